import type { WebhookEndpoint } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { counted } from '../../ui/format.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { type Place, refreshWebhooks, registerEndpoint, webhooksPath } from './queries.ts'
import { SigningSecret } from './signing-secret.tsx'
import { isUuid } from './webhook-labels.ts'

interface DialogProps {
  readonly organizationId: string
  readonly place: Place
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
}

/** Gives an address a new secret: it is registered a second time, and the first registration goes afterwards. */
export function Rotate({ organizationId, place, endpoint, onClose }: DialogProps) {
  const router = useRouter()
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('rotate'),
    initial: {},
    send: () => registerEndpoint(place, endpoint),
  })
  const { data } = form.action
  if (data !== undefined) {
    const { endpoint: made, secret } = data
    return (
      <SigningSecret
        url={made.url}
        secret={secret}
        onDone={() => {
          refreshWebhooks(organizationId)
          const next = to.webhook(place.app, place.installation, made.id, { dialog: 'finish', of: endpoint.id })
          void router.navigate({ ...next, replace: true })
        }}
      />
    )
  }
  return (
    <FormDialog
      title="Rotate the secret"
      act="Make the new secret"
      form={form}
      verdict={can('registerWebhook')}
      onClose={onClose}
    >
      <ol className="flex list-decimal flex-col gap-1.5 pl-4 text-[0.8125rem] text-ink-2">
        <li>The address is registered again, with a new secret that you see once.</li>
        <li>Let your endpoint accept both secrets. Until the end it gets each Event twice, with the same id.</li>
        <li>Delete the old registration. Its delivery log goes with it.</li>
      </ol>
    </FormDialog>
  )
}

/** Deletes an endpoint, or the old registration at the end of a rotation. */
export function DeleteWebhook({ organizationId, place, endpoint, old, onClose }: DialogProps & { old: string }) {
  const router = useRouter()
  const can = useOrganizationCan()
  const isRotated = old !== endpoint.id
  const remove = useMutation({
    mutationFn: () => call('DELETE', `${webhooksPath(place)}/${old}`),
    onSuccess: async () => {
      if (isRotated) onClose()
      else await router.navigate({ ...to.webhooks({ app: place.app }), replace: true })
      refreshWebhooks(organizationId)
    },
  })
  return (
    <Confirm
      title={isRotated ? 'Delete the old registration?' : 'Delete the endpoint?'}
      act={isRotated ? 'Delete the old one' : 'Delete the endpoint'}
      keep={isRotated ? 'Later' : 'Cancel'}
      verdict={can('deleteWebhook')}
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      {isRotated ? (
        <p>
          Do this once your endpoint checks with the new secret. Deliveries that still wait with the old one are
          dropped, and so is its log; the new registration has got the same Events since it was made.
        </p>
      ) : (
        <p>
          Nothing more is sent to <code className="font-mono text-xs [overflow-wrap:anywhere]">{endpoint.url}</code>.
          Deliveries that wait are dropped, and the log of this endpoint goes.
        </p>
      )}
    </Confirm>
  )
}

/** Sends the Events of a Session again, for a receiver that has lost them. */
export function Replay({ organizationId, place, endpoint, onClose }: DialogProps) {
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('replay'),
    initial: { sessionId: '', after: '' },
    faultsOf: ({ sessionId, after }) => ({
      sessionId: isUuid(sessionId) ? undefined : 'Enter the id of a Session.',
      after: /^\d{0,15}$/.test(after.trim()) ? undefined : 'The number of an Event has digits alone.',
    }),
    send: ({ sessionId, after }) =>
      call<{ queued: number; lastSequence?: number }>('POST', `${webhooksPath(place)}/${endpoint.id}/replay`, {
        sessionId: sessionId.trim(),
        ...(after.trim() === '' ? {} : { after: Number(after) }),
      }),
    onSent: () => refreshWebhooks(organizationId),
  })
  const { data } = form.action
  return (
    <FormDialog
      title="Send a Session again"
      about="The Events that this endpoint hears of are sent in their order, at most 1,000, also those from before it was registered."
      act="Send again"
      keep="Close"
      form={form}
      verdict={can('replayWebhook')}
      outcome={
        <p role="status" className="text-xs text-ink-2">
          {data !== undefined &&
            `${counted(data.queued, 'Event')} queued${data.lastSequence === undefined ? '' : `, up to number ${data.lastSequence}`}.`}
        </p>
      }
      onClose={onClose}
    >
      <TextField
        form={form}
        name="sessionId"
        label="Session"
        hint="The last part of the address of its page."
        exact
        autoFocus
      />
      <TextField
        form={form}
        name="after"
        label="After Event number"
        hint="Leave it empty to send all."
        className="max-w-40"
        inputMode="numeric"
      />
    </FormDialog>
  )
}
