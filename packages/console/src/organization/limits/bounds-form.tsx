import type { OrganizationSettings } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Field, inputClass } from '../../ui/field.tsx'
import { faultyForm, SettingsForm } from '../settings-form.tsx'
import { type Bound, type BoundName, hintOf, readBound } from './bounds.ts'
import { modelsQuery, saveOwn } from './queries.ts'

/** Edits bounds that the organization sets itself. Nothing in a field is no bound. */
export function BoundsForm(props: { label: string; bounds: readonly Bound[]; settings: OrganizationSettings }) {
  const { label, bounds, settings } = props
  const models = useQuery(modelsQuery)
  const [typed, setTyped] = useState<Partial<Record<BoundName, string>>>({})
  const textOf = ({ name }: Bound) => typed[name] ?? String(settings.own[name] ?? '')
  const read = bounds.map(bound => ({ bound, text: textOf(bound), result: readBound(textOf(bound), bound) }))
  const changed = Object.fromEntries(
    read.flatMap(({ bound: { name }, result }) =>
      'value' in result && result.value !== settings.own[name] ? [[name, result.value] as const] : [],
    ),
  )
  const faulty = read.some(({ result }) => 'fault' in result)
  const dirty = faulty || Object.keys(changed).length > 0
  return (
    <SettingsForm
      label={label}
      action="setBudgets"
      dirty={dirty}
      obstacle={faulty ? faultyForm : null}
      send={() => saveOwn(changed)}
      onSaved={() => setTyped({})}
    >
      <div className="grid gap-4 sm:grid-cols-3">
        {read.map(({ bound, text, result }) => (
          <Field
            key={bound.name}
            label={`${bound.label} (${bound.unit})`}
            hint={hintOf(bound, models.data)}
            fault={'fault' in result ? result.fault : undefined}
          >
            {attributes => (
              <input
                {...attributes}
                inputMode="decimal"
                autoComplete="off"
                placeholder="No bound"
                value={text}
                onChange={({ target }) => setTyped(before => ({ ...before, [bound.name]: target.value }))}
                className={`${inputClass} tabular-nums`}
              />
            )}
          </Field>
        ))}
      </div>
    </SettingsForm>
  )
}
