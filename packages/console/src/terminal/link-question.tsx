import { ExternalLink } from 'lucide-react'
import { Button, buttonClass } from '../ui/button.tsx'
import { printable } from '../ui/printable.ts'

/** Asks before a link is followed that a program printed: its text may say another place. */
export function LinkQuestion({ url, onClose }: { url: string; onClose: () => void }) {
  return (
    <div
      role="alert"
      className="flex shrink-0 flex-wrap items-center gap-2 border-t border-line bg-surface px-3 py-2 text-[0.8125rem]"
    >
      <p className="min-w-0 flex-1 break-all">
        A program in the sandbox links to <span className="font-mono text-xs">{printable(url)}</span>
      </p>
      <a
        className={buttonClass('plain')}
        href={url}
        target="_blank"
        rel="noopener noreferrer nofollow"
        onClick={onClose}
      >
        <ExternalLink className="size-3.5" aria-hidden /> Open
      </a>
      <Button variant="quiet" onClick={onClose}>
        Cancel
      </Button>
    </div>
  )
}
