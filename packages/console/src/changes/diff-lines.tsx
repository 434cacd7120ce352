import { memo } from 'react'
import { printable } from '../ui/printable.ts'
import type { Hunk } from './patch.ts'

const grounds = { context: '', added: 'bg-diff-added', removed: 'bg-diff-removed' } as const
const signs = { context: ' ', added: '+', removed: '-' } as const

/** Hunks of one file, one column. Rows far outside the view cost no layout. */
export const DiffLines = memo(function DiffLines({ hunks, label }: { hunks: readonly Hunk[]; label: string }) {
  return (
    <div tabIndex={0} role="region" aria-label={label} className="overflow-x-auto font-mono text-xs leading-5">
      <table className="w-full min-w-max border-collapse">
        {hunks.map((hunk, at) => (
          <tbody key={at} className="[contain-intrinsic-size:auto_400px] [content-visibility:auto]">
            {(at > 0 || hunk.heading !== '') && (
              <tr className="bg-surface text-ink-3">
                <td colSpan={3} className="border-y border-line px-3 whitespace-pre">
                  ⋯ {printable(hunk.heading)}
                </td>
              </tr>
            )}
            {hunk.lines.map((line, index) => (
              <tr key={index} className={grounds[line.kind]}>
                <td className="w-px pr-1.5 pl-3 text-right text-ink-3 tabular-nums select-none">{line.before ?? ''}</td>
                <td className="w-px pr-3 pl-1.5 text-right text-ink-3 tabular-nums select-none">{line.after ?? ''}</td>
                <td className="pr-4 whitespace-pre">
                  <span className="mr-2 select-none" aria-hidden>
                    {signs[line.kind]}
                  </span>
                  {line.kind !== 'context' && <span className="sr-only">{line.kind}: </span>}
                  {printable(line.text)}
                </td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  )
})
