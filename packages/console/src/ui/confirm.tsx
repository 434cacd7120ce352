import type { ReactNode } from 'react'
import type { Verdict } from '../session/session-can.ts'
import { Button } from './button.tsx'
import { DialogButtons, Overlay } from './overlay.tsx'

/** Asks before something is lost. The children name it. */
export function Confirm(props: {
  title: string
  /** The action, as the button names it. */
  act: string
  keep?: string
  verdict?: Verdict | undefined
  busy: boolean
  problem: ReactNode
  onAct: () => void
  onClose: () => void
  children: ReactNode
}) {
  const { title, act, keep = 'Cancel', verdict, busy, problem, onAct, onClose, children } = props
  return (
    <Overlay title={title} onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <div className="flex flex-col gap-3 text-[0.8125rem] text-ink-2">{children}</div>
        {problem}
        <DialogButtons>
          <Button onClick={onClose}>{keep}</Button>
          <Button variant="danger" hint="above" busy={busy} verdict={verdict} onClick={onAct}>
            {act}
          </Button>
        </DialogButtons>
      </div>
    </Overlay>
  )
}
