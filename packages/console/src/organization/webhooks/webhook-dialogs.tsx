import type { WebhookEndpoint } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { counted } from '../../ui/words.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { useKept } from '../kept.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { type Place, refreshWebhooks, webhooksPath } from './queries.ts'
import { SigningSecret } from './signing-secret.tsx'

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
  const rotate = useMutation({
    mutationFn: () =>
      call<{ endpoint: WebhookEndpoint; secret: string }>('POST', webhooksPath(place), {
        url: endpoint.url,
        families: endpoint.families,
      }),
  })
  if (rotate.data !== undefined) {
    const { endpoint: made, secret } = rotate.data
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
      action={rotate}
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

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Sends the Events of a Session again, for a receiver that has lost them. */
export function Replay({ organizationId, place, endpoint, onClose }: DialogProps) {
  const can = useOrganizationCan()
  const [form, change] = useKept(keptAs('replay'), { sessionId: '', after: '' })
  const sessionId = form.sessionId.trim()
  const after = form.after.trim()
  const replay = useMutation({
    mutationFn: () =>
      call<{ queued: number; lastSequence?: number }>('POST', `${webhooksPath(place)}/${endpoint.id}/replay`, {
        sessionId,
        ...(after === '' ? {} : { after: Number(after) }),
      }),
    onSuccess: () => refreshWebhooks(organizationId),
  })
  const isNumber = /^\d{0,15}$/.test(after)
  const obstacle = uuid.test(sessionId)
    ? isNumber
      ? null
      : 'The number of an Event has digits alone.'
    : 'Enter the id of a Session.'
  const verdict = can('replayWebhook')
  return (
    <FormDialog
      title="Send a Session again"
      about="The Events that this endpoint hears of are sent in their order, at most 1,000, also those from before it was registered."
      act="Send again"
      keep="Close"
      action={replay}
      verdict={verdict}
      obstacle={obstacle}
      outcome={
        <p role="status" className="text-xs text-ink-2">
          {replay.data !== undefined &&
            `${counted(replay.data.queued, 'Event')} queued${replay.data.lastSequence === undefined ? '' : `, up to number ${replay.data.lastSequence}`}.`}
        </p>
      }
      onClose={onClose}
    >
      <TextField
        label="Session"
        hint="The last part of the address of its page."
        exact
        autoFocus
        value={form.sessionId}
        onChange={sessionId => {
          replay.reset()
          change({ sessionId })
        }}
      />
      <TextField
        label="After Event number"
        hint="Leave it empty to send all."
        className="max-w-40"
        inputMode="numeric"
        value={form.after}
        onChange={after => {
          replay.reset()
          change({ after })
        }}
      />
    </FormDialog>
  )
}
