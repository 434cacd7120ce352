import { Menu as Base } from '@base-ui/react/menu'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

/** A menu that a button opens; the arrow keys move in it. */
export function Menu(props: {
  label: string
  trigger: ReactNode
  triggerClass: string
  /** Says when the menu closes whether the button gets the focus back. */
  finalFocus?: () => boolean
  onOpen?: () => void
  children: ReactNode
}) {
  return (
    <Base.Root modal={false} onOpenChange={open => open && props.onOpen?.()}>
      <Base.Trigger aria-label={props.label} title={props.label} className={props.triggerClass}>
        {props.trigger}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner align="end" sideOffset={4} className="z-40">
          <Base.Popup
            finalFocus={props.finalFocus}
            className="min-w-48 rounded-lg border border-line bg-raised p-1 shadow-float outline-none"
          >
            {props.children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

/** One thing that a menu does. With a reason it does nothing, and says why. */
export function MenuItem(props: {
  icon: LucideIcon
  keys?: string
  reason?: string | undefined
  danger?: boolean
  onSelect: () => void
  children: string
}) {
  const { icon: Icon, keys, reason, danger = false } = props
  return (
    <Base.Item
      aria-keyshortcuts={keys}
      disabled={reason !== undefined}
      onClick={props.onSelect}
      className={`flex min-h-8 items-center gap-2.5 rounded-md px-2.5 py-1 text-[0.8125rem] outline-none data-highlighted:bg-selected data-disabled:text-ink-3 max-lg:min-h-10 ${danger && reason === undefined ? 'text-bad' : ''}`}
    >
      <Icon className="size-4 shrink-0" aria-hidden />
      <span className="flex-1">
        {props.children}
        {reason !== undefined && <span className="block max-w-56 text-xs text-ink-3">{reason}</span>}
      </span>
      {keys !== undefined && (
        <kbd aria-hidden className="font-mono text-2xs text-ink-3">
          {keys}
        </kbd>
      )}
    </Base.Item>
  )
}
