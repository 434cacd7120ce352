import type { CreatePublication, Publication, Review, Session } from '@berth/client'
import { emptyTreeOid } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Check, GitPullRequest, LoaderCircle } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { type BoundsForm, boundsFaults, requestOf } from '../pulls/bounds.ts'
import { useLog } from '../session/logs.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { counted } from '../ui/format.ts'
import { InlineProblem, LoadingLines } from '../ui/states.tsx'
import { GateNote, usePublishGate } from '../verification/publish-gate.tsx'
import { ChangedSince } from './changed-since.tsx'
import { deliveryReason } from './delivery-text.ts'
import { draftOf, hiddenNote, lastMessage } from './draft.ts'
import { NotBorneOut } from './not-borne-out.tsx'
import { publicationsQuery } from './queries.ts'
import { UnsentComments } from './unsent-comments.tsx'
import { withSandbox } from './with-sandbox.ts'

const StayFields = lazy(async () => ({ default: (await import('../pulls/stay-fields.tsx')).StayFields }))
const Overlay = lazy(async () => ({ default: (await import('../ui/overlay.tsx')).Overlay }))

/** Publishes exactly the revision that is on screen. */
export function Publish({ session, review }: { session: Session; review: Review }) {
  const verdict = useSessionCan(session)('publish')
  const [open, setOpen] = useState(false)
  const [newest] = useQuery(publicationsQuery(session.id)).data ?? []
  const isPublished = newest?.revision === review.revision && newest.status === 'succeeded'
  return (
    <>
      {isPublished ? (
        <span className="inline-flex h-8 items-center gap-1.5 px-2 text-ink-2">
          <Check className="size-4 text-good" aria-hidden /> Up to date
        </span>
      ) : (
        <Button variant="primary" verdict={verdict} onClick={() => setOpen(true)}>
          <GitPullRequest className="size-4" aria-hidden /> Publish…
        </Button>
      )}
      {open && <PublishDialog session={session} review={review} onClose={() => setOpen(false)} />}
    </>
  )
}

/** Keeps the revision that it was opened with: the person has not read changes that arrive behind it. */
export function PublishDialog(props: { session: Session; review: Review; onClose: () => void }) {
  const { session, review, onClose } = props
  const [held, setHeld] = useState(review)
  return (
    <Suspense>
      <Overlay title={`Publish the changes to ${session.source?.label ?? 'the repository'}`} onClose={onClose}>
        <PublishForm session={session} review={held} onHold={setHeld} onDone={onClose} />
      </Overlay>
    </Suspense>
  )
}

interface Form {
  readonly title: string
  readonly body: string
  readonly draft: boolean
  readonly delivery: Publication['delivery']
  /** The bounds within which Berth stays at the pull request; null if it does not. */
  readonly follow: BoundsForm | null
}

function PublishForm(props: {
  session: Session
  review: Review
  onHold: (review: Review) => void
  onDone: () => void
}) {
  const { session, review, onHold, onDone } = props
  const rows = useLog(session.id, ({ view }) => view.rows)
  // A later message of the agent sums up another revision.
  const [message] = useState(() => lastMessage(rows))
  const [form, setForm] = useState<Form>(() => ({
    ...draftOf(session, review, message),
    draft: false,
    delivery: 'pull_request',
    follow: null,
  }))
  const id = useRef({ value: crypto.randomUUID(), of: '' })
  const [sent, setSent] = useState<string | null>(null)
  const publish = useMutation({
    mutationFn: (body: CreatePublication) => {
      // The same id may not come with another body.
      const of = JSON.stringify(body)
      if (id.current.of !== of) id.current = { value: crypto.randomUUID(), of }
      return withSandbox(session.id, () =>
        berth.call('createPublication', { sessionId: session.id, publicationId: id.current.value, body }),
      )
    },
    onSuccess: async () => {
      setSent(id.current.value)
      await queryClient.invalidateQueries({ queryKey: publicationsQuery(session.id).queryKey })
    },
  })
  // The dialog stays until the outcome is known.
  const made = useQuery({ ...publicationsQuery(session.id), enabled: sent !== null }).data?.find(one => one.id === sent)
  const mayMerge = useSessionCan(session)('merge').allowed
  const follow = form.delivery === 'pull_request' ? form.follow : null
  const gate = usePublishGate(session, review, () =>
    publish.mutate({
      revision: review.revision,
      title: form.title,
      body: form.body,
      ...(form.delivery === 'pull_request' && { draft: form.draft }),
      delivery: form.delivery,
      ...(gate.verified && { verified: true }),
      ...(follow !== null && { followUp: requestOf({ ...follow, merges: follow.merges && mayMerge }) }),
    }),
  )
  const change = (part: Partial<Form>) => {
    setSent(null)
    setForm({ ...form, ...part })
  }
  if (made?.status === 'succeeded') {
    return (
      <div className="flex flex-col gap-4 px-5 pb-5 text-[0.8125rem]">
        <p role="status">
          Published
          {made.result?.pullRequest === undefined
            ? ` to ${made.result?.branch ?? review.targetBranch}${made.delivery === 'pull_request' ? ' as the first commit of the repository' : ''}.`
            : ` as pull request #${made.result.pullRequest.number}.`}
        </p>
        <div className="flex justify-end">
          <Button variant="primary" onClick={onDone}>
            Done
          </Button>
        </div>
      </div>
    )
  }
  const failure = made?.status === 'failed' ? (made.lastError?.code ?? 'internal_error') : null
  if (failure === 'review_changed') {
    return (
      <Stale
        session={session}
        read={review}
        onCancel={onDone}
        onTake={fresh => {
          setSent(null)
          // A description that nobody wrote is derived again for each choice.
          const draft = (of: Review) => draftOf(session, of, message).body
          if (form.body === draft(review)) setForm({ ...form, body: draft(fresh) })
          onHold(fresh)
          // The published changes are on screen behind the dialog.
          void queryClient.invalidateQueries({ queryKey: ['session', session.id, 'review'] })
        }}
      />
    )
  }
  const hidden = hiddenNote(`${form.title}\n${form.body}`)
  const busy = publish.isPending || gate.waits || (sent !== null && failure === null)
  const first = gate.verified && gate.outcome.kind !== 'passed' ? 'Verify, then ' : ''
  return (
    <form
      className="flex flex-col gap-4 px-5 pb-5"
      onSubmit={event => {
        event.preventDefault()
        if (failure !== null) id.current = { value: crypto.randomUUID(), of: '' }
        gate.submit()
      }}
    >
      <p className="text-[0.8125rem] text-ink-2">
        Delivers {counted(review.files.length, 'file')} as you read them: revision{' '}
        <code className="font-mono text-xs">{review.revision.slice(0, 12)}</code>. If the changes have moved on, nothing
        is delivered, and you see what is different.
      </p>
      {review.baseOid === emptyTreeOid && (
        <p className="text-[0.8125rem] text-ink-2">
          The repository had no commit when the Session began. If it still has none, this makes the first one, on{' '}
          {review.targetBranch}, without a pull request.
        </p>
      )}
      <Field label="Deliver as">
        {attributes => (
          <Select
            {...attributes}
            value={form.delivery}
            onChange={event => change({ delivery: event.target.value as Form['delivery'] })}
          >
            <option value="pull_request">Pull request into {review.targetBranch}</option>
            <option value="direct_branch">Commit on {review.targetBranch}, without a pull request</option>
          </Select>
        )}
      </Field>
      <Field label="Title">
        {attributes => (
          <input
            {...attributes}
            required
            maxLength={256}
            value={form.title}
            onChange={event => change({ title: event.target.value })}
            className={inputClass}
          />
        )}
      </Field>
      <Field label="Description" hint="Drafted from the agent's last message and the whole review.">
        {attributes => (
          <textarea
            {...attributes}
            rows={8}
            value={form.body}
            onChange={event => change({ body: event.target.value })}
            className={`${inputClass} font-mono text-xs leading-relaxed`}
          />
        )}
      </Field>
      {form.delivery === 'pull_request' && (
        <label className="flex items-center gap-2 text-[0.8125rem]">
          <input
            type="checkbox"
            className="accent-accent"
            checked={form.draft}
            onChange={event => change({ draft: event.target.checked })}
          />
          As a draft
        </label>
      )}
      {form.delivery === 'pull_request' && (
        <Suspense>
          <StayFields bounds={form.follow} mayMerge={mayMerge} onChange={bounds => change({ follow: bounds })} />
        </Suspense>
      )}
      <UnsentComments sessionId={session.id} />
      {hidden !== null && (
        <p role="status" className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          {hidden}
        </p>
      )}
      <GateNote review={review} gate={gate} />
      <NotBorneOut sessionId={session.id} text={`${form.title}\n\n${form.body}`} review={review} />
      <InlineProblem error={publish.error} />
      {failure !== null && (
        <p role="alert" className="rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-[0.8125rem]">
          <strong className="font-semibold text-bad">Not published:</strong>{' '}
          {deliveryReason(made?.lastError ?? { code: failure })}.
        </p>
      )}
      <div className="flex items-center justify-end gap-2">
        <span role="status" className="mr-auto inline-flex items-center gap-1.5 text-xs text-ink-3">
          {busy && (
            <>
              <LoaderCircle className="size-3.5 animate-spin" aria-hidden />{' '}
              {gate.waits ? 'Waits for the checks' : 'Publishing'}
            </>
          )}
        </span>
        <Button onClick={onDone}>{busy ? 'Close' : 'Cancel'}</Button>
        <Button
          type="submit"
          variant="primary"
          busy={busy}
          disabled={form.title.trim() === '' || (follow !== null && Object.keys(boundsFaults(follow)).length > 0)}
        >
          {beginUpper(`${first}${form.delivery === 'pull_request' ? 'open the pull request' : 'publish the commit'}`)}
        </Button>
      </div>
    </form>
  )
}

const beginUpper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Shows how the changes differ from those that the person read, and asks again. */
function Stale(props: { session: Session; read: Review; onTake: (fresh: Review) => void; onCancel: () => void }) {
  const { session, read, onTake, onCancel } = props
  const fresh = useQuery({
    queryKey: ['session', session.id, 'review-after', read.revision],
    queryFn: async ({ signal }) => (await berth.call('reviewRepository', { sessionId: session.id }, { signal })).review,
  })
  return (
    <div className="flex flex-col gap-4 px-5 pb-5">
      <p role="alert" className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
        Nothing was published: the changes have moved on since you read them. This is what is different now.
      </p>
      <InlineProblem error={fresh.error} />
      {fresh.data === undefined ? (
        fresh.isPending && <LoadingLines label="the changes" lines={3} />
      ) : (
        <ChangedSince sessionId={session.id} before={read} now={fresh.data} />
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button
          variant="primary"
          disabled={fresh.data === undefined}
          onClick={() => fresh.data !== undefined && onTake(fresh.data)}
        >
          Go on with these changes
        </Button>
      </div>
    </div>
  )
}
