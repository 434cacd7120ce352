import type { ApiKey, Integration } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { serverNow } from '../../api/server-clock.ts'
import { Ago } from '../../ui/dates.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { keptAs } from '../dialogs.ts'
import { FormDialog } from '../form-dialog.tsx'
import { forgetKept, useKept } from '../kept.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { keyKinds, keyName, kindFault } from './key-words.ts'

const dayMs = 24 * 60 * 60_000

const lives: readonly (readonly [days: number, label: string])[] = [
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
  [365, 'A year'],
  [0, 'Does not expire'],
]

const kinds = Object.keys(keyKinds) as ApiKey['kind'][]

/** Makes a key, or one in the place of another. */
export function NewKey(props: {
  organizationId: string
  integration: Integration
  replaced: ApiKey | null
  onMade: (secret: string) => void
  onClose: () => void
}) {
  const { organizationId, integration, replaced, onMade, onClose } = props
  const can = useOrganizationCan()
  const kept = replaced === null ? keptAs('key') : keptAs('replace', replaced.id)
  const [form, change] = useKept(kept, {
    kind: replaced?.kind ?? kinds.find(kind => kindFault(kind, integration) === null) ?? 'cloud',
    days: 90,
  })
  const create = useMutation({
    mutationFn: () =>
      call<{ key: ApiKey; secret: string }>(
        'POST',
        `account/organizations/${organizationId}/integrations/${integration.id}/keys`,
        {
          kind: form.kind,
          ...(form.days === 0 ? {} : { expiresAt: new Date(serverNow() + form.days * dayMs).toISOString() }),
          ...(replaced === null ? {} : { replaces: replaced.id }),
        },
      ),
    onSuccess: ({ secret }) => {
      forgetKept(kept)
      onMade(secret)
    },
  })
  const verdict = can(replaced === null ? 'createKey' : 'replaceKey')
  const fault = replaced === null ? kindFault(form.kind, integration) : null
  return (
    <FormDialog
      title={replaced === null ? 'New API key' : `Replace ${keyName(replaced)}`}
      act={replaced === null ? 'Create the key' : 'Replace the key'}
      action={create}
      verdict={verdict}
      obstacle={fault}
      onClose={onClose}
    >
      {replaced === null ? (
        <Field
          label="Opens"
          hint="A key opens one half of the service, so that a leak costs only that."
          fault={fault ?? undefined}
        >
          {attributes => (
            <Select
              {...attributes}
              value={form.kind}
              onChange={event => change({ kind: event.target.value as ApiKey['kind'] })}
            >
              {kinds.map(kind => (
                <option key={kind} value={kind}>
                  {keyKinds[kind]}
                </option>
              ))}
            </Select>
          )}
        </Field>
      ) : (
        <p className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          The old key ends at the moment that the new one begins.{' '}
          {replaced.lastUsedAt === undefined ? (
            'It was never used.'
          ) : (
            <>
              It was used <Ago at={replaced.lastUsedAt} />.
            </>
          )}{' '}
          To change without a pause, add a second key instead.
        </p>
      )}
      <Field label="Lives for" hint="An expired key is refused. Replace it before.">
        {attributes => (
          <Select {...attributes} value={form.days} onChange={event => change({ days: Number(event.target.value) })}>
            {lives.map(([days, label]) => (
              <option key={days} value={days}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </FormDialog>
  )
}
