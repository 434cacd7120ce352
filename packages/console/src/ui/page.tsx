import type { ReactNode } from 'react'
import { printableLine } from './printable.ts'

/** A page with a heading that stays, and content that scrolls. */
export function Page(props: {
  title: string
  actions?: ReactNode
  below?: ReactNode
  wide?: boolean
  /** True if nothing inside has to take the focus: the page itself takes it, so that keys can scroll. */
  reading?: boolean
  children: ReactNode
}) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-13 flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2 lg:px-6">
        <h1 className="text-[0.9375rem] font-semibold">{props.title}</h1>
        <div className="ml-auto flex items-center gap-2">{props.actions}</div>
        {props.below}
      </header>
      <div
        className="relative min-h-0 flex-1 scroll-pt-9 scroll-pb-18 overflow-y-auto -outline-offset-2"
        tabIndex={props.reading === true ? 0 : -1}
      >
        <div className={props.wide === true ? '' : 'mx-auto max-w-4xl px-4 py-6 lg:px-6'}>{props.children}</div>
      </div>
    </div>
  )
}

/** Names the document; React puts it into the head. */
export function Title({ children }: { children: string }) {
  return <title>{`${printableLine(children)} · Berth`}</title>
}
