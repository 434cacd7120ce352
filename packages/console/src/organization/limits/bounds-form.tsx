import type { OrganizationSettings } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Field, inputClass } from '../../ui/field.tsx'
import { InlineProblem } from '../../ui/states.tsx'
import { useOrganizationCan } from '../organization-can.ts'
import { type Bound, type BoundName, hintOf, readBound } from './bounds.ts'
import { modelsQuery, saveOwn, settingsQuery } from './queries.ts'

/** Edits bounds that the organization sets itself. Nothing in a field is no bound. */
export function BoundsForm(props: { label: string; bounds: readonly Bound[]; settings: OrganizationSettings }) {
  const { label, bounds, settings } = props
  const can = useOrganizationCan()
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
  const save = useMutation({
    mutationFn: () => saveOwn(changed),
    onSuccess: saved => {
      queryClient.setQueryData(settingsQuery.queryKey, saved)
      setTyped({})
    },
  })
  const allowed = can('setBudgets')
  const verdict = !allowed.allowed
    ? allowed
    : faulty
      ? ({ allowed: false, reason: 'Correct what is marked first.' } as const)
      : !dirty
        ? ({ allowed: false, reason: 'Nothing has changed.' } as const)
        : allowed
  return (
    <form
      aria-label={label}
      className="flex flex-col gap-4 rounded-xl border border-line p-4"
      onSubmit={event => {
        event.preventDefault()
        if (verdict.allowed) save.mutate()
      }}
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
      <InlineProblem error={save.error} />
      <div className="flex items-center gap-3">
        <Button type="submit" variant="primary" busy={save.isPending} verdict={verdict} hint="above">
          Save
        </Button>
        <p role="status" className="text-xs text-ink-3">
          {save.isSuccess && !dirty ? 'Saved.' : ''}
        </p>
      </div>
    </form>
  )
}
