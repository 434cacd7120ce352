import { useBlocker } from '@tanstack/react-router'
import { Button } from '../ui/button.tsx'
import { Overlay } from '../ui/overlay.tsx'
import { edits } from './edits.ts'

/** Asks before unsaved edits are left. The tabs of the page itself share them, so those are no leaving. */
export function LeaveGuard(props: { environmentId: string; dirty: boolean; onDiscard: () => void }) {
  const { environmentId, dirty, onDiscard } = props
  const blocked = useBlocker({
    // Asks the store: a save that has just succeeded leads on before the page is drawn again.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && edits.read(environmentId) !== null,
    enableBeforeUnload: () => edits.read(environmentId) !== null,
    disabled: !dirty,
    withResolver: true,
  })
  if (blocked.status !== 'blocked') return null
  return (
    <Overlay title="Leave with unsaved edits?" onClose={blocked.reset}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <p>This tab can keep your edits until you come back.</p>
        <div className="flex flex-wrap gap-2">
          <Button variant="primary" onClick={blocked.reset}>
            Go on editing
          </Button>
          <Button onClick={blocked.proceed}>Leave, and keep them</Button>
          <Button
            variant="danger"
            onClick={() => {
              onDiscard()
              edits.write(environmentId, null)
              blocked.proceed()
            }}
          >
            Discard them
          </Button>
        </div>
      </div>
    </Overlay>
  )
}
