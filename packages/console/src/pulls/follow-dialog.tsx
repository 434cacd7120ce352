import type { FollowUp, FollowUpRequest } from '@berth/contract'
import { type ReactNode, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { DialogButtons, Overlay } from '../ui/overlay.tsx'
import { type BoundsForm, boundsFaults, boundsOf, defaultBounds, requestOf } from './bounds.ts'
import { BoundsFields } from './bounds-fields.tsx'
import { followUpText } from './pull-labels.ts'

/** Asks for the bounds within which Berth follows a pull request, goes on with it, or tries again. */
export function FollowDialog(props: {
  number: number
  followUp: FollowUp | null
  mayMerge: boolean
  busy: boolean
  problem: ReactNode
  onFollow: (request: FollowUpRequest) => void
  onClose: () => void
}) {
  const { number, followUp, mayMerge, busy, problem, onFollow, onClose } = props
  const [bounds, setBounds] = useState<BoundsForm>(() => (followUp === null ? defaultBounds : boundsOf(followUp)))
  const isOver = followUp !== null && (followUp.state === 'needs_person' || followUp.state === 'stopped')
  const title =
    followUp === null
      ? `Follow #${number} until it is merged`
      : isOver
        ? `Try again with #${number}`
        : `Bounds of #${number}`
  return (
    <Overlay title={title} onClose={onClose}>
      <form
        className="flex flex-col gap-4 px-5 pb-5 text-[0.8125rem]"
        onSubmit={event => {
          event.preventDefault()
          if (Object.keys(boundsFaults(bounds)).length > 0) return
          onFollow(requestOf({ ...bounds, merges: bounds.merges && mayMerge }))
        }}
      >
        <p className="text-ink-2">
          {isOver
            ? `${followUpText(followUp)} Its attempts, its time and its budget begin anew.`
            : 'Failed checks, comments, conflicts and a moved base go to the agent, and its work is pushed to the pull request.'}
        </p>
        <BoundsFields bounds={bounds} mayMerge={mayMerge} onChange={setBounds} />
        {problem}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={busy} disabled={Object.keys(boundsFaults(bounds)).length > 0}>
            {followUp === null ? 'Follow it' : isOver ? 'Try again' : 'Save'}
          </Button>
        </DialogButtons>
      </form>
    </Overlay>
  )
}
