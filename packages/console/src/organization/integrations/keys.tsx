import type { ApiKey, Integration } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { Plus, RefreshCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { serverNow } from '../../api/server-clock.ts'
import { Badge } from '../../environments/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Ago, Day } from '../../ui/dates.tsx'
import { type Column, dayColumn, Table } from '../../ui/table.tsx'
import { Part } from '../access/facts.tsx'
import { refreshAccess } from '../access/queries.ts'
import type { Dialog } from '../dialogs.ts'
import { ShownOnce } from '../form-dialog.tsx'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { isFull, keyKinds, keyName } from './key-labels.ts'
import { NewKey } from './new-key.tsx'

const soonMs = 7 * 24 * 60 * 60_000

/** The active keys of an integration: when they were used, and the ways to make, replace and revoke them. */
export function Keys(props: { organizationId: string; integration: Integration; dialog: Dialog }) {
  const { organizationId, integration, dialog } = props
  const { keys } = integration
  const can = useOrganizationCan()
  // Kept here, not in the dialog that made it: a replaced key leaves the list, and its dialog with it.
  const [secret, setSecret] = useState<string | null>(null)
  const chosen = keys.find(({ id }) => id === dialog.of)
  const columns: readonly Column<ApiKey>[] = [
    {
      id: 'key',
      header: 'Key',
      cell: key => (
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5">
          <code className="truncate font-mono text-xs">{keyName(key)}</code>
          <Badge tone="quiet">{keyKinds[key.kind]}</Badge>
        </span>
      ),
    },
    {
      id: 'used',
      header: 'Last used',
      cell: ({ lastUsedAt }) => (
        <span className="text-ink-2">{lastUsedAt === undefined ? 'Never' : <Ago at={lastUsedAt} />}</span>
      ),
    },
    {
      id: 'expires',
      header: 'Expires',
      className: 'max-sm:hidden',
      cell: ({ expiresAt }) =>
        expiresAt === undefined ? (
          <span className="text-ink-3">Never</span>
        ) : (
          <span className={Date.parse(expiresAt) - serverNow() < soonMs ? 'text-warning' : 'text-ink-2'}>
            <Day at={expiresAt} />
          </span>
        ),
    },
    dayColumn('created', 'Created', ({ createdAt }) => createdAt),
    {
      id: 'actions',
      header: 'Actions',
      quiet: true,
      cell: key => (
        <span className="flex justify-end">
          <IconButton label={`Replace ${keyName(key)}`} onClick={() => dialog.open('replace', key.id)}>
            <RefreshCw className="size-4" aria-hidden />
          </IconButton>
          <IconButton label={`Revoke ${keyName(key)}`} onClick={() => dialog.open('revoke', key.id)}>
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </span>
      ),
    },
  ]
  return (
    <Part
      id="keys"
      title="API keys"
      hint="Two of a kind can be active: add the second, deploy it, and revoke the first without a pause."
      actions={
        <Button
          variant={keys.length === 0 ? 'primary' : 'plain'}
          verdict={can('createKey', { full: isFull(integration) })}
          onClick={() => dialog.open('key')}
        >
          <Plus className="size-4" aria-hidden /> New key
        </Button>
      }
    >
      {keys.length === 0 ? (
        <p className="rounded-md border border-dashed border-line-strong px-4 py-6 text-center text-[0.8125rem] text-ink-2">
          No active key, so nothing can use this integration.
        </p>
      ) : (
        <Table label="API keys" columns={columns} rows={keys} keyOf={({ id }) => id} />
      )}
      {dialog.name === 'key' && secret === null && (
        <NewKey {...{ organizationId, integration }} replaced={null} onMade={setSecret} onClose={dialog.close} />
      )}
      {dialog.name === 'replace' && chosen !== undefined && secret === null && (
        <NewKey {...{ organizationId, integration }} replaced={chosen} onMade={setSecret} onClose={dialog.close} />
      )}
      {secret !== null && (
        <ShownOnce
          title="Copy the key now"
          label={`Key of ${integration.name}`}
          value={secret}
          onDone={() => {
            setSecret(null)
            dialog.close()
            refreshAccess(organizationId)
          }}
        >
          It is shown this once. Berth keeps a digest of it, and its last four characters. Put it into a secret store;
          programs send it as <code className="font-mono text-xs">Authorization: Bearer …</code>
        </ShownOnce>
      )}
      {dialog.name === 'revoke' && chosen !== undefined && (
        <Revoke {...{ organizationId, integration, apiKey: chosen }} onClose={dialog.close} />
      )}
    </Part>
  )
}

function Revoke(props: { organizationId: string; integration: Integration; apiKey: ApiKey; onClose: () => void }) {
  const { organizationId, integration, apiKey, onClose } = props
  const can = useOrganizationCan()
  const revoke = useMutation({
    mutationFn: () =>
      call('DELETE', `account/organizations/${organizationId}/integrations/${integration.id}/keys/${apiKey.id}`),
    onSuccess: () => {
      onClose()
      refreshAccess(organizationId)
    },
  })
  return (
    <Confirm
      title={`Revoke ${keyName(apiKey)}?`}
      act="Revoke the key"
      verdict={can('revokeKey')}
      busy={revoke.isPending}
      problem={<ActionProblem error={revoke.error} />}
      onAct={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>
        It is refused from the next request on, and cannot return.{' '}
        {apiKey.lastUsedAt === undefined ? (
          'It was never used.'
        ) : (
          <>
            It was used <Ago at={apiKey.lastUsedAt} />.
          </>
        )}
      </p>
    </Confirm>
  )
}
