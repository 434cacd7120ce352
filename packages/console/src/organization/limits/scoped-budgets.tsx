import type { OrganizationSettings } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import type { Verdict } from '../../session/session-can.ts'
import { Button } from '../../ui/button.tsx'
import { Field, inputClass, Select } from '../../ui/field.tsx'
import { InlineProblem } from '../../ui/states.tsx'
import { installationsQuery } from '../access/queries.ts'
import { membersQuery } from '../members/queries.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { readBound } from './bounds.ts'
import { BudgetBars } from './budget-bars.tsx'
import { useSaveBudget } from './queries.ts'

const nothing = { of: '', usd: '', period: 'month', onReached: 'pause' } as const

/** The budgets of people and installations, and a form for one more. */
export function ScopedBudgets({ budgets }: Pick<OrganizationSettings, 'budgets'>) {
  return (
    <>
      <BudgetBars budgets={budgets.filter(({ scope }) => scope !== 'organization')}>
        No budget is set: each spends what the organization may.
      </BudgetBars>
      <NewBudget />
    </>
  )
}

function NewBudget() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const members = useQuery(membersQuery(organizationId)).data ?? []
  const installations = useQuery(installationsQuery(organizationId)).data ?? []
  const [fields, setFields] = useState<{
    of: string
    usd: string
    period: 'day' | 'month'
    onReached: 'pause' | 'refuse'
  }>(nothing)
  const { of, usd, period, onReached } = fields
  const change = (part: Partial<typeof fields>) => setFields(before => ({ ...before, ...part }))
  const save = useSaveBudget(() => setFields(nothing))
  const limit = readBound(usd, {})
  const allowed = useOrganizationCan()('setBudgets')
  const verdict: Verdict = !allowed.allowed
    ? allowed
    : of === ''
      ? { allowed: false, reason: 'Choose first whom it is for.' }
      : 'fault' in limit || limit.value === null
        ? { allowed: false, reason: 'Enter an amount from 0.01 on.' }
        : allowed
  return (
    <form
      aria-label="New budget"
      className="flex flex-col gap-4 rounded-xl border border-line p-4"
      onSubmit={event => {
        event.preventDefault()
        if (!verdict.allowed || !('value' in limit)) return
        const [scope, id = ''] = of.split(' ')
        const whose = scope === 'person' ? { personId: id } : { installationId: id }
        save.mutate({ ...whose, period, onReached, limitUsd: limit.value })
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Whose">
          {attributes => (
            <Select {...attributes} value={of} onChange={event => change({ of: event.target.value })}>
              <option value="">Choose…</option>
              <optgroup label="People">
                {members.map(({ person }) => (
                  <option key={person.id} value={`person ${person.id}`}>
                    {person.name}
                  </option>
                ))}
              </optgroup>
              <optgroup label="Installations">
                {installations.flatMap(({ id, name, app, revokedAt }) =>
                  revokedAt === undefined
                    ? [
                        <option key={id} value={`installation ${id}`}>
                          {name ?? app}
                        </option>,
                      ]
                    : [],
                )}
              </optgroup>
            </Select>
          )}
        </Field>
        <Field label="Limit (US dollars)" fault={'fault' in limit ? limit.fault : undefined}>
          {attributes => (
            <input
              {...attributes}
              inputMode="decimal"
              autoComplete="off"
              value={usd}
              onChange={event => change({ usd: event.target.value })}
              className={`${inputClass} tabular-nums`}
            />
          )}
        </Field>
        <Field label="Period">
          {attributes => (
            <Select
              {...attributes}
              value={period}
              onChange={event => change({ period: event.target.value === 'day' ? 'day' : 'month' })}
            >
              <option value="day">A day</option>
              <option value="month">A month</option>
            </Select>
          )}
        </Field>
        <Field label="When it is reached">
          {attributes => (
            <Select
              {...attributes}
              value={onReached}
              onChange={event => change({ onReached: event.target.value === 'pause' ? 'pause' : 'refuse' })}
            >
              <option value="pause">Runs wait for people</option>
              <option value="refuse">Refuse Runs</option>
            </Select>
          )}
        </Field>
      </div>
      <InlineProblem error={save.error} />
      <div>
        <Button type="submit" busy={save.isPending} verdict={verdict} hint="above">
          Set the budget
        </Button>
      </div>
    </form>
  )
}
