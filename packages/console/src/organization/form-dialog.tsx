import type { UseMutationResult } from '@tanstack/react-query'
import type { ComponentProps, ReactNode } from 'react'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { CopiedOnce } from '../ui/copied-once.tsx'
import { Field, inputClass } from '../ui/field.tsx'
import { Overlay } from '../ui/overlay.tsx'
import { ActionProblem } from './step-up.tsx'

/** A dialog that does one thing with what its fields hold. The button says why it cannot, and shows that it is at it. */
export function FormDialog<T>(props: {
  title: string
  /** What happens, and what it costs. */
  about?: ReactNode
  /** What is done, as the button says it. */
  act: string
  keep?: string
  action: UseMutationResult<T, Error, void>
  verdict: Verdict
  /** What is missing before it can be done; null if nothing is. */
  obstacle?: string | null
  /** What the action has done. */
  outcome?: ReactNode
  onClose: () => void
  children?: ReactNode
}) {
  const { title, about, act, keep = 'Cancel', action, obstacle = null, outcome, onClose, children } = props
  const verdict = props.verdict.allowed && obstacle !== null ? { allowed: false, reason: obstacle } : props.verdict
  return (
    <Overlay title={title} onClose={onClose}>
      <form
        className="flex flex-col gap-4 px-5 pb-5"
        onSubmit={event => {
          event.preventDefault()
          if (verdict.allowed && !action.isPending) action.mutate()
        }}
      >
        {about !== undefined && <div className="text-[0.8125rem] text-ink-2">{about}</div>}
        {children}
        <ActionProblem error={action.error} />
        {outcome}
        <div className="flex gap-2">
          <Button type="submit" look="primary" hint="above" busy={action.isPending} verdict={verdict}>
            {act}
          </Button>
          <Button onClick={onClose}>{keep}</Button>
        </div>
      </form>
    </Overlay>
  )
}

/** A line of text in a dialog. The first one takes the focus: the person opened the dialog to type. */
export function TextField(
  props: Pick<ComponentProps<typeof Field>, 'label' | 'hint' | 'fault'> &
    Omit<ComponentProps<'input'>, 'onChange' | 'value'> & {
      value: string
      /** True for what people compare letter by letter. */
      exact?: boolean
      onChange: (value: string) => void
    },
) {
  const { label, hint, fault, exact = false, onChange, className = '', ...rest } = props
  return (
    <Field label={label} hint={hint} fault={fault}>
      {attributes => (
        <input
          autoComplete="off"
          spellCheck={!exact}
          {...attributes}
          {...rest}
          onChange={event => onChange(event.target.value)}
          className={`${inputClass} ${exact ? 'font-mono text-[0.8125rem]' : ''} ${className}`}
        />
      )}
    </Field>
  )
}

/** What the service shows this once. Only its button closes it: Esc would lose the value. */
export function ShownOnce({ title, ...shown }: { title: string } & ComponentProps<typeof CopiedOnce>) {
  return (
    <Overlay title={title} onClose={() => {}}>
      <CopiedOnce {...shown} />
    </Overlay>
  )
}
