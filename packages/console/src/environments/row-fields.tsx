import { environmentLimits } from '@berth/contract/limits'
import { useId } from 'react'
import { type UseFormReturn, useFieldArray } from 'react-hook-form'
import { inputClass } from '../ui/field.tsx'
import { type FormValues, placeOf } from './form-values.ts'
import { faultAt, type Issue } from './issues.ts'
import { AddRow, Fault, RemoveRow, Section } from './section.tsx'

export interface PartProps {
  readonly form: UseFormReturn<FormValues>
  readonly issues: readonly Issue[]
  readonly readOnly: boolean
}

const cell = `${inputClass} font-mono text-[0.8125rem]`

/** Variables by name and value. */
export function VariableRows({ form, issues, readOnly }: PartProps) {
  const { fields, append, remove } = useFieldArray({ control: form.control, name: 'variables' })
  const id = useId()
  const values = form.watch('variables')
  return (
    <Section
      id={`${id}-title`}
      title="Variables"
      hint="For the setup script and the agent. Everybody who may read this environment sees them: credentials belong under Secrets."
      fault={issues.find(({ path }) => path.length === 1 && path[0] === 'variables')?.message}
    >
      {fields.length > 0 && (
        <ul className="flex flex-col gap-2">
          {fields.map((field, at) => {
            const name = values[at]?.name ?? ''
            const isBlank = name === '' && (values[at]?.value ?? '') === ''
            const fault = isBlank ? undefined : faultAt(issues, 'variables', name)
            return (
              <li key={field.id} className="flex flex-col gap-1">
                <div className="flex items-start gap-2">
                  <input
                    {...form.register(`variables.${at}.name`)}
                    aria-label={`Name of variable ${at + 1}`}
                    aria-invalid={fault !== undefined || undefined}
                    aria-describedby={`${id}-${at}`}
                    placeholder="NAME"
                    readOnly={readOnly}
                    autoComplete="off"
                    spellCheck={false}
                    className={`${cell} max-w-64 flex-1`}
                  />
                  <textarea
                    {...form.register(`variables.${at}.value`)}
                    aria-label={`Value of ${name === '' ? `variable ${at + 1}` : name}`}
                    aria-invalid={fault !== undefined || undefined}
                    placeholder="value"
                    readOnly={readOnly}
                    rows={1}
                    spellCheck={false}
                    className={`${cell} field-sizing-content max-h-40 flex-[2] resize-none`}
                  />
                  <RemoveRow
                    label={`Remove ${name === '' ? `variable ${at + 1}` : name}`}
                    readOnly={readOnly}
                    onRemove={() => remove(at)}
                  />
                </div>
                <span id={`${id}-${at}`}>{fault !== undefined && <Fault>{fault}</Fault>}</span>
              </li>
            )
          })}
        </ul>
      )}
      <AddRow
        label="Add a variable"
        count={fields.length}
        most={environmentLimits.variables}
        readOnly={readOnly}
        onAdd={() => append({ name: '', value: '' })}
      />
    </Section>
  )
}

/** Repositories that are cloned into the sandbox. */
export function RepositoryRows({ form, issues, readOnly }: PartProps) {
  const { fields, append, remove } = useFieldArray({ control: form.control, name: 'repositories' })
  const id = useId()
  const values = form.watch()
  return (
    <div role="group" aria-label="Repositories" className="flex flex-col gap-3">
      {fields.length > 0 && (
        <ul className="flex flex-col gap-2">
          {fields.map((field, at) => {
            const row = values.repositories[at] ?? field
            const place = placeOf('repositories', values, at)
            const isBlank = row.repository === '' && row.branch === '' && row.path === ''
            const fault = isBlank ? undefined : faultAt(issues, 'repositories', place)
            const which = row.repository === '' ? `repository ${at + 1}` : row.repository
            return (
              <li key={field.id} className="flex flex-col gap-1">
                <div className="flex flex-wrap items-start gap-2 max-sm:rounded-md max-sm:border max-sm:border-line max-sm:p-2">
                  <input
                    {...form.register(`repositories.${at}.repository`)}
                    aria-label={`Repository ${at + 1}`}
                    aria-invalid={fault !== undefined || undefined}
                    aria-describedby={`${id}-${at}`}
                    placeholder="owner/name"
                    readOnly={readOnly}
                    spellCheck={false}
                    className={`${cell} min-w-40 flex-[2]`}
                  />
                  <input
                    {...form.register(`repositories.${at}.branch`)}
                    aria-label={`Branch of ${which}`}
                    placeholder="default branch"
                    readOnly={readOnly}
                    spellCheck={false}
                    className={`${cell} min-w-28 flex-1`}
                  />
                  <input
                    {...form.register(`repositories.${at}.path`)}
                    aria-label={`Directory of ${which}`}
                    placeholder={row.repository.split('/')[1] || 'directory'}
                    readOnly={readOnly}
                    spellCheck={false}
                    className={`${cell} min-w-28 flex-1`}
                  />
                  <RemoveRow label={`Remove ${which}`} readOnly={readOnly} onRemove={() => remove(at)} />
                </div>
                <span id={`${id}-${at}`}>{fault !== undefined && <Fault>{fault}</Fault>}</span>
              </li>
            )
          })}
        </ul>
      )}
      {issues
        .filter(({ path }) => path.length === 1 && path[0] === 'repositories')
        .map(({ message }) => (
          <Fault key={message}>{`Repositories ${message}`}</Fault>
        ))}
      <AddRow
        label="Add a repository"
        count={fields.length}
        most={environmentLimits.repositories}
        readOnly={readOnly}
        onAdd={() => append({ repository: '', branch: '', path: '' })}
      />
    </div>
  )
}

/** Directories that are kept between sandboxes. */
export function CacheRows({ form, issues, readOnly }: PartProps) {
  const { fields, append, remove } = useFieldArray({ control: form.control, name: 'cachePaths' })
  const id = useId()
  const values = form.watch()
  return (
    <Section
      id={`${id}-title`}
      title="Cache"
      hint={
        <>
          Directories that are kept from one fresh sandbox to the next, per repository and branch: <code>~/.npm</code>,
          or relative to <code>/workspace</code>. A directory that holds a secret is never kept.
        </>
      }
    >
      {fields.length > 0 && (
        <ul className="flex flex-col gap-2">
          {fields.map((field, at) => {
            const path = values.cachePaths[at]?.path ?? ''
            const fault = path === '' ? undefined : faultAt(issues, 'cache', 'paths', placeOf('cachePaths', values, at))
            return (
              <li key={field.id} className="flex flex-col gap-1">
                <div className="flex items-start gap-2">
                  <input
                    {...form.register(`cachePaths.${at}.path`)}
                    aria-label={`Cache path ${at + 1}`}
                    aria-invalid={fault !== undefined || undefined}
                    aria-describedby={`${id}-${at}`}
                    placeholder="~/.npm"
                    readOnly={readOnly}
                    spellCheck={false}
                    className={cell}
                  />
                  <RemoveRow
                    label={`Remove ${path === '' ? `cache path ${at + 1}` : path}`}
                    readOnly={readOnly}
                    onRemove={() => remove(at)}
                  />
                </div>
                <span id={`${id}-${at}`}>{fault !== undefined && <Fault>{fault}</Fault>}</span>
              </li>
            )
          })}
        </ul>
      )}
      <AddRow
        label="Add a path"
        count={fields.length}
        most={environmentLimits.cachePaths}
        readOnly={readOnly}
        onAdd={() => append({ path: '' })}
      />
    </Section>
  )
}
