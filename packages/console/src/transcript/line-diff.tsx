import { structuredPatch } from 'diff'
import { useMemo } from 'react'
import { DiffLines } from '../changes/diff-lines.tsx'
import type { DiffLine, Hunk } from '../changes/patch.ts'
import { CitedFile, fileLinkClass } from '../files/cited-file.tsx'
import { printableLine } from '../ui/printable.ts'

/** More than this is not compared: the time to do so grows with the square of the difference. */
const compared = 200_000

/** The change of one file by a tool call. */
export default function LineDiff({ file }: { file: { path: string; oldText: string | null; newText: string } }) {
  const { path, oldText, newText } = file
  const hunks = useMemo(() => hunksOf(oldText ?? '', newText), [oldText, newText])
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <p className="border-b border-line bg-surface px-2.5 py-1 font-mono text-xs">
        <CitedFile text={path} className={fileLinkClass}>
          {printableLine(path)}
        </CitedFile>
      </p>
      {hunks === null ? (
        <p className="px-2.5 py-2 text-xs text-ink-3">This change is too large to show here.</p>
      ) : (
        <DiffLines hunks={hunks} label={`Change of ${printableLine(path)}`} />
      )}
    </div>
  )
}

function hunksOf(oldText: string, newText: string): readonly Hunk[] | null {
  if (oldText.length + newText.length > compared) return null
  const patch = structuredPatch('', '', oldText, newText, '', '', { context: 3, timeout: 500 })
  return (
    patch?.hunks.map(({ lines, oldStart, newStart }) => {
      let [before, after] = [oldStart, newStart]
      return { heading: '', lines: lines.filter(line => !line.startsWith('\\')).map(toLine) }
      function toLine(line: string): DiffLine {
        const text = line.slice(1)
        if (line.startsWith('+')) return { kind: 'added', before: null, after: after++, text }
        if (line.startsWith('-')) return { kind: 'removed', before: before++, after: null, text }
        return { kind: 'context', before: before++, after: after++, text }
      }
    }) ?? null
  )
}
