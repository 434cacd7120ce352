import { Dialog } from '@base-ui/react/dialog'
import { type ReactNode, useEffect, useState } from 'react'
import { openerOfEarlyInput } from './early-input.tsx'

/**
 * A dialog over the page. Esc and a press outside close it; the focus returns to its place. If the opening button is gone, as a
 * button is whose work is done, the focus goes to the content of the page, so that the keyboard does not begin at the top.
 */
export function Overlay(props: { title: string; hideTitle?: boolean; onClose: () => void; children: ReactNode }) {
  // A field that takes the focus as it appears does so before the dialog looks who had it.
  const [opener] = useState(() => openerOfEarlyInput() ?? document.activeElement)
  const finalFocus = () => (opener instanceof HTMLElement && opener.isConnected ? opener : true)
  useEffect(
    () => () =>
      void requestAnimationFrame(() => {
        if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true })
      }),
    [],
  )
  return (
    <Dialog.Root open onOpenChange={open => open || props.onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-scrim" />
        <Dialog.Popup
          finalFocus={finalFocus}
          className="fixed top-[12vh] left-1/2 z-50 flex max-h-[76vh] w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-y-auto rounded-xl border border-line bg-raised shadow-float outline-none"
        >
          <Dialog.Title
            className={props.hideTitle === true ? 'sr-only' : 'px-5 pt-4 pb-3 text-[0.9375rem] font-semibold'}
          >
            {props.title}
          </Dialog.Title>
          {props.children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** The buttons of a dialog: the way back at the left, the action at the right. They stay in sight while the rest scrolls. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return (
    <div className="sticky bottom-0 -mx-5 -mb-5 flex flex-wrap justify-end gap-2 border-t border-line bg-raised px-5 py-3">
      {children}
    </div>
  )
}
