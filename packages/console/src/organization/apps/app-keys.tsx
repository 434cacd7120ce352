import type { AppKey } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Plus, Trash2 } from 'lucide-react'
import { call } from '../../api/client.ts'
import { Badge } from '../../environments/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Field, inputClass } from '../../ui/field.tsx'
import { ErrorState, LoadingLines } from '../../ui/states.tsx'
import { type Column, dayColumn, Table } from '../../ui/table.tsx'
import { Part } from '../access/facts.tsx'
import { refreshAccess } from '../access/queries.ts'
import { type Dialog, keptAs } from '../dialogs.ts'
import { FormDialog } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { pemFault } from './app-fields.ts'
import { appKeysQuery } from './queries.ts'

/** Active keys that an app may have. */
const mostKeys = 10

interface KeysProps {
  readonly organizationId: string
  readonly slug: string
  readonly dialog: Dialog
}

/** The public keys by which the backend of an app names itself. */
export function AppKeys({ organizationId, slug, dialog }: KeysProps) {
  const can = useOrganizationCan()
  const list = useQuery(appKeysQuery(organizationId, slug))
  const keys = list.data ?? []
  const active = keys.filter(({ revokedAt }) => revokedAt === undefined)
  const chosen = active.find(({ kid }) => kid === dialog.of)
  return (
    <Part
      id="app-keys"
      title="Keys of the backend"
      hint="The backend signs its assertions with the private half, which never leaves it. Berth knows the public one."
      actions={
        <Button
          variant={list.isSuccess && active.length === 0 ? 'primary' : 'plain'}
          verdict={can('registerAppKey', { full: active.length >= mostKeys })}
          onClick={() => dialog.open('register')}
        >
          <Plus className="size-4" aria-hidden /> Register a key
        </Button>
      }
    >
      {list.isPending && <LoadingLines label="keys" lines={2} />}
      {list.isError && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && keys.length === 0 && (
        <p className="rounded-md border border-dashed border-line-strong px-4 py-6 text-center text-[0.8125rem] text-ink-2">
          No key yet, so the backend cannot get tokens.
        </p>
      )}
      {keys.length > 0 && (
        <Table label="Keys of the backend" columns={columnsOf(dialog)} rows={keys} keyOf={({ kid }) => kid} />
      )}
      {dialog.name === 'register' && <Register {...{ organizationId, slug }} onClose={dialog.close} />}
      {dialog.name === 'revoke' && chosen !== undefined && (
        <Revoke {...{ organizationId, slug, kid: chosen.kid }} onClose={dialog.close} />
      )}
    </Part>
  )
}

const columnsOf = (dialog: Dialog): readonly Column<AppKey>[] => [
  {
    id: 'kid',
    header: 'Key id',
    cell: ({ kid, revokedAt }) => (
      <span className="flex min-w-0 items-center gap-2">
        <code title={kid} className={`truncate font-mono text-xs ${revokedAt === undefined ? '' : 'text-ink-3'}`}>
          {kid}
        </code>
        {revokedAt !== undefined && <Badge tone="quiet">Revoked</Badge>}
      </span>
    ),
  },
  dayColumn('created', 'Registered', ({ createdAt }) => createdAt),
  {
    id: 'actions',
    header: 'Actions',
    quiet: true,
    cell: ({ kid, revokedAt }) =>
      revokedAt === undefined && (
        <span className="flex justify-end">
          <IconButton label={`Revoke ${kid}`} onClick={() => dialog.open('revoke', kid)}>
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </span>
      ),
  },
]

const recipe = 'openssl genpkey -algorithm ed25519 -out app.pem\nopenssl pkey -in app.pem -pubout'

function Register({ organizationId, slug, onClose }: Omit<KeysProps, 'dialog'> & { onClose: () => void }) {
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('register'),
    initial: { pem: '' },
    faultsOf: ({ pem }) => ({ pem: pem.trim() === '' ? 'Paste a public key.' : pemFault(pem) }),
    send: ({ pem }) => call('POST', `account/apps/${slug}/keys`, { publicKeyPem: `${pem.trim()}\n` }),
    onSent: () => {
      refreshAccess(organizationId)
      onClose()
    },
  })
  const { pem } = form.values
  return (
    <FormDialog
      title="Register a public key"
      act="Register"
      form={form}
      verdict={can('registerAppKey')}
      onClose={onClose}
    >
      <div className="flex flex-col gap-1.5 text-[0.8125rem] text-ink-2">
        <p>Make an Ed25519 key where the backend runs. The second command prints what belongs here.</p>
        <pre className="rounded-md border border-line bg-code p-2.5 font-mono text-xs whitespace-pre-wrap">
          {recipe}
        </pre>
      </div>
      <Field label="Public key" hint="PEM, beginning with -----BEGIN PUBLIC KEY-----" fault={pemFault(pem)}>
        {attributes => (
          <textarea
            {...attributes}
            rows={4}
            // biome-ignore lint/a11y/noAutofocus: the person opened this to paste
            autoFocus
            spellCheck={false}
            autoComplete="off"
            maxLength={2048}
            value={pem}
            // A private key must not even stay in the tab.
            onChange={({ target: { value } }) =>
              form.fields.setValue('pem', value.includes('PRIVATE KEY') ? '-----BEGIN PRIVATE KEY-----' : value)
            }
            className={`${inputClass} font-mono text-xs`}
          />
        )}
      </Field>
    </FormDialog>
  )
}

function Revoke(props: { organizationId: string; slug: string; kid: string; onClose: () => void }) {
  const { organizationId, slug, kid, onClose } = props
  const can = useOrganizationCan()
  const revoke = useMutation({
    mutationFn: () => call('DELETE', `account/apps/${slug}/keys/${kid}`),
    onSuccess: () => {
      onClose()
      refreshAccess(organizationId)
    },
  })
  return (
    <Confirm
      title="Revoke the key?"
      act="Revoke the key"
      verdict={can('revokeAppKey')}
      busy={revoke.isPending}
      problem={<ActionProblem error={revoke.error} />}
      onAct={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>
        Assertions that <code className="font-mono text-xs [overflow-wrap:anywhere]">{kid}</code> signed are refused
        from now on. Tokens that the backend already holds live for minutes. The key can never be registered again.
      </p>
    </Confirm>
  )
}
