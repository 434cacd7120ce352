import { formatBytes } from '@berth/client/transcript'
import { Paperclip, X } from 'lucide-react'
import { printableLine } from '../ui/printable.ts'
import type { Attachment } from './attachments.ts'

/** The files that go with a message. */
export function AttachmentList(props: { attachments: readonly Attachment[]; onRemove: (name: string) => void }) {
  if (props.attachments.length === 0) return null
  return (
    <ul aria-label="Files" className="flex flex-wrap gap-1.5">
      {props.attachments.map(({ name, size }) => (
        <li
          key={name}
          className="flex h-7 max-w-full items-center gap-1.5 rounded-md border border-line bg-surface pr-1 pl-2 text-xs"
        >
          <Paperclip className="size-3 shrink-0 text-ink-3" aria-hidden />
          <span className="truncate">{printableLine(name)}</span>
          <span className="shrink-0 text-ink-3">{formatBytes(size)}</span>
          <button
            type="button"
            aria-label={`Remove ${name}`}
            onClick={() => props.onRemove(name)}
            className="grid size-6 shrink-0 place-items-center rounded text-ink-3 hover:bg-hover hover:text-ink"
          >
            <X className="size-3" aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  )
}
