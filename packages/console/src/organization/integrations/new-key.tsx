import type { ApiKey, Integration } from '@berth/contract'
import { call } from '../../api/client.ts'
import { serverNow } from '../../api/server-clock.ts'
import { Ago } from '../../ui/dates.tsx'
import { keptAs } from '../dialogs.ts'
import { ChoiceField, FormDialog } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { keyKinds, keyName, kindFault } from './key-labels.ts'

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
  const form = useKeptForm({
    name: replaced === null ? keptAs('key') : keptAs('replace', replaced.id),
    initial: {
      kind: replaced?.kind ?? kinds.find(kind => kindFault(kind, integration) === null) ?? 'cloud',
      days: 90,
    },
    faultsOf: ({ kind }) => (replaced === null ? { kind: kindFault(kind, integration) ?? undefined } : {}),
    send: ({ kind, days }) =>
      call<{ key: ApiKey; secret: string }>(
        'POST',
        `account/organizations/${organizationId}/integrations/${integration.id}/keys`,
        {
          kind,
          ...(days === 0 ? {} : { expiresAt: new Date(serverNow() + days * dayMs).toISOString() }),
          ...(replaced === null ? {} : { replaces: replaced.id }),
        },
      ),
    onSent: ({ secret }) => onMade(secret),
  })
  const { fields, faults } = form
  return (
    <FormDialog
      title={replaced === null ? 'New API key' : `Replace ${keyName(replaced)}`}
      act={replaced === null ? 'Create the key' : 'Replace the key'}
      form={form}
      verdict={can(replaced === null ? 'createKey' : 'replaceKey')}
      onClose={onClose}
    >
      {replaced === null ? (
        <ChoiceField
          label="Opens"
          hint="A key opens one half of the service, so that a leak costs only that."
          fault={faults.kind}
          choices={kinds.map(kind => [kind, keyKinds[kind]])}
          {...fields.register('kind')}
        />
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
      <ChoiceField
        label="Lives for"
        hint="An expired key is refused. Replace it before."
        choices={lives}
        {...fields.register('days', { valueAsNumber: true })}
      />
    </FormDialog>
  )
}
