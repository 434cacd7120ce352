import type { Environment } from '@berth/client'
import { environmentLimits } from '@berth/contract/limits'
import { RotateCcw, Save } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { Controller } from 'react-hook-form'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { Field, inputClass } from '../ui/field.tsx'
import { counted } from '../ui/format.ts'
import { InlineProblem } from '../ui/states.tsx'
import { memberLabel } from './document-labels.ts'
import { ExtensionRows } from './extension-rows.tsx'
import { faultAt, type Issue } from './issues.ts'
import { LazyCodeEditor } from './lazy-code-editor.tsx'
import { NetworkPart } from './network-part.tsx'
import { CacheRows, type PartProps, RepositoryRows, VariableRows } from './row-fields.tsx'
import { Fault, Section } from './section.tsx'
import type { DocumentEditor } from './use-document-editor.ts'

interface Props {
  readonly id: string
  readonly environment: Environment | null
  readonly editor: DocumentEditor
  readonly maySave: Verdict
  readonly mayUpload: Verdict
  readonly onSaved?: (environment: Environment) => void
}

/** The document, as a form or as JSON. */
export function DocumentTab({ id, environment, editor, maySave, mayUpload, onSaved }: Props) {
  const { view, dirty, issues, draft } = editor
  const readOnly = typeof environment?.archivedAt === 'string'
  const blocked = view === 'json' && (draft === null || issues.some(({ path }) => path.length <= 1))
  return (
    <form
      className="-mb-6 flex flex-col gap-6"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        if (!maySave.allowed) return
        void editor.save().then(saved => saved !== null && onSaved?.(saved))
      }}
    >
      <Warnings environment={environment} />
      <div className="flex items-center gap-1" role="group" aria-label="View of the document">
        <ViewButton shown={view === 'form'} onShow={() => editor.show('form')} blocked={blocked}>
          Form
        </ViewButton>
        <ViewButton shown={view === 'json'} onShow={() => editor.show('json')} blocked={false}>
          JSON
        </ViewButton>
      </div>
      {view === 'form' ? (
        <FormView {...{ id, environment, editor, readOnly, mayUpload }} />
      ) : (
        <JsonView editor={editor} readOnly={readOnly} />
      )}
      {!readOnly && (
        <div className="sticky bottom-0 z-10 -mx-4 flex flex-wrap items-center gap-2 border-t border-line bg-canvas px-4 py-3 lg:-mx-6 lg:px-6">
          <Button
            type="submit"
            variant="primary"
            hint="above"
            busy={editor.saving}
            verdict={maySave.allowed && !dirty ? { allowed: false, reason: 'Nothing is changed.' } : maySave}
          >
            <Save className="size-4" aria-hidden /> {environment === null ? 'Create' : 'Save'}
          </Button>
          {dirty && environment !== null && (
            <Button variant="quiet" onClick={editor.discard}>
              <RotateCcw className="size-4" aria-hidden /> Discard edits
            </Button>
          )}
          <p role="status" className={`text-xs ${issues.length > 0 && dirty ? 'text-bad' : 'text-ink-3'}`}>
            {statusOf(editor)}
          </p>
          <div className="w-full empty:hidden">
            <InlineProblem error={editor.problem} />
          </div>
        </div>
      )}
    </form>
  )
}

function statusOf({ dirty, issues, base, attempted, draft }: DocumentEditor): string {
  if (!dirty) return base.revision === null ? '' : `Revision ${base.revision}, saved`
  const isUntouched = base.revision === null && !attempted && draft?.name === ''
  if (issues.length === 0 || isUntouched) return 'Not saved yet; this tab keeps your edits.'
  const [first] = issues
  const where = first === undefined || first.path.length === 0 ? '' : `${memberLabel(first.path.join('.'))} `
  return `${counted(issues.length, 'fault')}: ${where}${first?.message}`
}

function ViewButton(props: { shown: boolean; blocked: boolean; onShow: () => void; children: ReactNode }) {
  const { shown, blocked, onShow, children } = props
  return (
    <Button
      variant="quiet"
      aria-pressed={shown}
      className={shown ? 'bg-selected font-medium text-ink' : ''}
      verdict={
        blocked && !shown
          ? { allowed: false, reason: 'The form cannot hold this text. Fix the JSON first.' }
          : undefined
      }
      onClick={onShow}
    >
      {children}
    </Button>
  )
}

function Warnings({ environment }: { environment: Environment | null }) {
  if (environment === null || environment.warnings.length === 0) return null
  return (
    <div className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
      <h2 className="font-semibold text-warning">
        {counted(environment.warnings.length, 'warning')} of revision {environment.revision}
      </h2>
      <ul className="mt-1 list-disc pl-5">
        {environment.warnings.map(({ path, message }) => (
          <li key={`${path.join('.')} ${message}`}>
            <span className="font-medium">
              {memberLabel(path.filter((part, at) => at > 0 || part !== 'document').join('.'))}
            </span>{' '}
            {message}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface FormViewProps extends Pick<Props, 'id' | 'environment' | 'editor' | 'mayUpload'> {
  readonly readOnly: boolean
}

function FormView({ id, environment, editor, readOnly, mayUpload }: FormViewProps) {
  const { form, issues, attempted, base, draft } = editor
  const setupId = useId()
  const parts = { form, issues, readOnly }
  const nameFault =
    attempted || base.revision !== null || form.watch('name') !== '' ? faultAt(issues, 'name') : undefined
  const setupFault = faultAt(issues, 'setup')
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-[2fr_3fr]">
        <Field label="Name" fault={nameFault === undefined ? undefined : `Name ${nameFault}.`}>
          {attributes => (
            <input
              {...attributes}
              {...form.register('name')}
              readOnly={readOnly}
              autoComplete="off"
              maxLength={environmentLimits.nameCharacters * 2}
              className={inputClass}
            />
          )}
        </Field>
        <Field label="Description" fault={faultAt(issues, 'description')}>
          {attributes => (
            <input {...attributes} {...form.register('description')} readOnly={readOnly} className={inputClass} />
          )}
        </Field>
      </div>
      <Section
        id={`${setupId}-title`}
        title="Setup script"
        hint={
          <>
            Bash. It runs in every fresh sandbox before the first Turn. If it exits with another code than 0, the Run
            fails: begin with <code>set -e</code> to notice what went wrong. Lines appended to <code>$BERTH_ENV</code>{' '}
            become variables.
          </>
        }
        fault={setupFault}
      >
        <Controller
          control={form.control}
          name="setup"
          render={({ field }) => (
            <LazyCodeEditor
              id={setupId}
              label="Setup script"
              describedBy={`${setupId}-title`}
              invalid={setupFault !== undefined}
              language="shell"
              value={field.value}
              readOnly={readOnly}
              onChange={field.onChange}
            />
          )}
        />
      </Section>
      <Packages {...parts} names={draft?.packages ?? []} />
      <VariableRows {...parts} />
      <Section
        id={`${setupId}-git`}
        title="GitHub and repositories"
        hint="Short-lived tokens of the Git host, for pulling and for pull requests. With them, further repositories are cloned beside the Session's own."
      >
        <Switch label="Give sandboxes access to GitHub" register={form.register('github')} readOnly={readOnly} />
        {(form.watch('github') || form.watch('repositories').length > 0) && <RepositoryRows {...parts} />}
      </Section>
      <NetworkPart {...parts} names={draft?.network?.hosts ?? []} />
      <CacheRows {...parts} />
      <ExtensionRows {...parts} environmentId={id} archives={environment?.archives ?? []} mayUpload={mayUpload} />
      <Section
        id={`${setupId}-prebuild`}
        title="Prebuilt start"
        hint="What the setup script makes of workspace and home is kept, and later sandboxes start from it without running the script. It must hold no secret, and no process that it leaves running."
      >
        <Switch label="Keep what setup makes" register={form.register('prebuild')} readOnly={readOnly} />
      </Section>
      <Section
        id={`${setupId}-preview`}
        title="Preview"
        hint="A command that serves the work, such as npm run dev. It runs while somebody keeps an idle sandbox running to look at it, with the variables and without the secrets. It stays in the foreground."
      >
        <div className="grid gap-4 sm:grid-cols-[4fr_1fr]">
          <Field label="Command" fault={faultAt(issues, 'preview', 'command')}>
            {attributes => (
              <textarea
                {...attributes}
                {...form.register('preview.command')}
                rows={1}
                readOnly={readOnly}
                spellCheck={false}
                className={`${inputClass} field-sizing-content max-h-40 resize-none font-mono text-[0.8125rem]`}
              />
            )}
          </Field>
          <Field label="Port" fault={faultAt(issues, 'preview', 'port')}>
            {attributes => (
              <input
                {...attributes}
                {...form.register('preview.port')}
                readOnly={readOnly}
                inputMode="numeric"
                autoComplete="off"
                placeholder="3000"
                className={inputClass}
              />
            )}
          </Field>
        </div>
      </Section>
      <Rest issues={issues} rest={form.watch('rest')} />
    </>
  )
}

function Packages({ form, issues, readOnly, names }: PartProps & { readonly names: readonly string[] }) {
  const id = useId()
  const faults = issues.filter(({ path }) => path[0] === 'packages')
  return (
    <Section
      id={`${id}-title`}
      title="System packages"
      hint="Debian packages that sandboxes show beside the host's own, such as jq. White space separates them."
    >
      <textarea
        {...form.register('packages')}
        aria-label="System packages"
        aria-describedby={`${id}-faults`}
        aria-invalid={faults.length > 0 || undefined}
        rows={1}
        readOnly={readOnly}
        spellCheck={false}
        placeholder="jq libpq-dev"
        className={`${inputClass} field-sizing-content max-h-40 resize-none font-mono text-[0.8125rem]`}
      />
      <div id={`${id}-faults`} className="empty:hidden">
        {faults.map(({ path, message }) => (
          <Fault key={`${path.join('.')} ${message}`}>
            {path.length > 1 ? `\u201c${names[Number(path[1])] ?? ''}\u201d ${message}` : `The list ${message}`}
          </Fault>
        ))}
      </div>
    </Section>
  )
}

function Switch(props: { label: string; register: object; readOnly: boolean }) {
  return (
    <label className="flex w-fit items-center gap-2.5 text-sm">
      <input type="checkbox" {...props.register} disabled={props.readOnly} className="size-4 accent-(--accent)" />
      {props.label}
    </label>
  )
}

/** Members that a newer service knows and this form does not: they are kept, and can be edited as JSON. */
function Rest({ rest, issues }: { rest: Readonly<Record<string, unknown>>; issues: readonly Issue[] }) {
  const names = Object.keys(rest)
  if (names.length === 0) return null
  return (
    <div className="text-xs text-ink-3">
      Kept as it is, and editable in the JSON view: {names.map(memberLabel).join(', ')}.
      {names.map(name => {
        const fault = faultAt(issues, name)
        return fault === undefined ? null : <Fault key={name}>{`${memberLabel(name)} ${fault}`}</Fault>
      })}
    </div>
  )
}

function JsonView({ editor, readOnly }: { editor: DocumentEditor; readOnly: boolean }) {
  const id = useId()
  const { issues, json } = editor
  return (
    <div className="flex flex-col gap-2">
      <LazyCodeEditor
        id={id}
        label="Document as JSON"
        describedBy={`${id}-faults`}
        invalid={issues.length > 0}
        language="json"
        value={json}
        readOnly={readOnly}
        onChange={editor.changeJson}
      />
      <ul id={`${id}-faults`} className="flex flex-col gap-1">
        {issues.map(({ path, message }) => (
          <li key={`${path.join('.')} ${message}`}>
            <Fault>{`${path.join('.')} ${message}`.trim()}</Fault>
          </li>
        ))}
      </ul>
    </div>
  )
}
