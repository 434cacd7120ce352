import type { ComponentProps, ReactNode } from 'react'
import type { FieldPathByValue, FieldValues } from 'react-hook-form'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { CopiedOnce } from '../ui/copied-once.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { DialogButtons, Overlay } from '../ui/overlay.tsx'
import { type KeptForm, obstacleOf } from './kept-form.ts'
import { ActionProblem } from './step-up.tsx'

/** A dialog that does one thing with the values of its fields. The button says why it cannot, and shows that it is at it. */
export function FormDialog<T extends FieldValues, R>(props: {
  title: string
  /** The consequences and the cost of the action. */
  about?: ReactNode
  /** The action, as the button names it. */
  act: string
  keep?: string
  form: KeptForm<T, R>
  verdict: Verdict
  /** A missing input that belongs to no field; null if nothing is missing. */
  obstacle?: string | null
  /** The outcome of the action. */
  outcome?: ReactNode
  onClose: () => void
  children?: ReactNode
}) {
  const { title, about, act, keep = 'Cancel', form, outcome, onClose, children } = props
  const { action } = form
  const verdict = formVerdict(props.verdict, props.obstacle ?? obstacleOf(form.faults))
  return (
    <Overlay title={title} onClose={onClose}>
      <form
        noValidate
        className="flex flex-col gap-4 px-5 pb-5"
        // The last answer was about other values.
        onChange={() => action.isPending || action.isIdle || action.reset()}
        onSubmit={event => {
          event.preventDefault()
          if (verdict.allowed && !action.isPending) action.mutate()
        }}
      >
        {about !== undefined && <div className="text-[0.8125rem] text-ink-2">{about}</div>}
        {children}
        <ActionProblem error={action.error} />
        {outcome}
        <DialogButtons>
          <Button onClick={onClose}>{keep}</Button>
          <Button type="submit" variant="primary" hint="above" busy={action.isPending} verdict={verdict}>
            {act}
          </Button>
        </DialogButtons>
      </form>
    </Overlay>
  )
}

/** Returns whether a form may be sent: by its person's rights, and by its missing fields. */
export function formVerdict(allowed: Verdict, obstacle: string | null): Verdict {
  return allowed.allowed && obstacle !== null ? { allowed: false, reason: obstacle } : allowed
}

interface OfForm<T extends FieldValues> extends Pick<ComponentProps<typeof Field>, 'label' | 'hint'> {
  readonly form: KeptForm<T>
  /** The field of the form. Its fault is shown once it has a value. */
  readonly name: FieldPathByValue<T, string>
  /** True for values that people compare letter by letter. */
  readonly exact?: boolean
}

/** Returns the fault of a field that has a value. */
function faultOf<T extends FieldValues>({ values, faults }: KeptForm<T>, name: string): string | undefined {
  return String(values[name]).trim() === '' ? undefined : faults[name]
}

const textClass = (exact: boolean) => `${inputClass} ${exact ? 'font-mono text-[0.8125rem]' : ''}`

/** A line of text of a form. The first one takes the focus: the person opened the dialog to type. */
export function TextField<T extends FieldValues>(
  props: OfForm<T> & Omit<ComponentProps<'input'>, 'name' | 'form' | 'value' | 'onChange'>,
) {
  const { form, name, label, hint, exact = false, className = '', ...rest } = props
  return (
    <Field label={label} hint={hint} fault={faultOf(form, name)}>
      {attributes => (
        <input
          autoComplete="off"
          spellCheck={!exact}
          {...attributes}
          {...rest}
          {...form.fields.register(name)}
          className={`${textClass(exact)} ${className}`}
        />
      )}
    </Field>
  )
}

/** Lines of text of a form. */
export function LinesField<T extends FieldValues>(
  props: OfForm<T> & Omit<ComponentProps<'textarea'>, 'name' | 'form' | 'value' | 'onChange'>,
) {
  const { form, name, label, hint, exact = false, ...rest } = props
  return (
    <Field label={label} hint={hint} fault={faultOf(form, name)}>
      {attributes => (
        <textarea
          autoComplete="off"
          spellCheck={!exact}
          {...attributes}
          {...rest}
          {...form.fields.register(name)}
          className={textClass(exact)}
        />
      )}
    </Field>
  )
}

/** A choice of a few as a field. */
export function ChoiceField(
  props: Pick<ComponentProps<typeof Field>, 'label' | 'hint' | 'fault'> &
    ComponentProps<typeof Select> & { choices: readonly (readonly [value: string | number, label: string])[] },
) {
  const { label, hint, fault, choices, ...rest } = props
  return (
    <Field label={label} hint={hint} fault={fault}>
      {attributes => (
        <Select {...attributes} {...rest}>
          {choices.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Select>
      )}
    </Field>
  )
}

/** Returns values with one more or one less, as its box is ticked. */
export function withTick(values: readonly string[], value: string, isTicked: boolean): string[] {
  return [...values.filter(other => other !== value), ...(isTicked ? [value] : [])]
}

/** A value that the service shows only once. Only its button closes it: Esc would lose the value. */
export function ShownOnce({ title, ...shown }: { title: string } & ComponentProps<typeof CopiedOnce>) {
  return (
    <Overlay title={title} onClose={() => {}}>
      <CopiedOnce {...shown} />
    </Overlay>
  )
}
