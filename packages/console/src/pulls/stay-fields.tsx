import { TickBox } from '../ui/tick-box.tsx'
import { type BoundsForm, defaultBounds } from './bounds.ts'
import { BoundsFields } from './bounds-fields.tsx'

/** Asks whether Berth follows the pull request that is about to be opened, and within which bounds. */
export function StayFields(props: {
  bounds: BoundsForm | null
  mayMerge: boolean
  onChange: (bounds: BoundsForm | null) => void
}) {
  const { bounds, mayMerge, onChange } = props
  return (
    <div className="flex flex-col gap-3">
      <TickBox
        checked={bounds !== null}
        onChange={event => onChange(event.target.checked ? defaultBounds : null)}
        means="Failed checks, comments, conflicts and a moved base go to the agent, and its work is pushed to the pull request."
      >
        Follow it until it is merged
      </TickBox>
      {bounds !== null && (
        <div className="rounded-md border border-line px-3 py-2.5">
          <BoundsFields bounds={bounds} mayMerge={mayMerge} onChange={onChange} />
        </div>
      )}
    </div>
  )
}
