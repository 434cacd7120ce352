import type { Review } from '@berth/contract'

/** A line that a change adds, numbered after it, or removes, numbered before it. */
export interface ChangedLine {
  readonly side: 'before' | 'after'
  readonly number: number
  readonly text: string
}

/** The changed lines of a file, hunk by hunk; null if the patch does not have all of them. */
export type FileLines = readonly (readonly ChangedLine[])[] | null

/** More changed lines of one file, and more files, are not looked at. */
export const bounds = { files: 500, linesOfFile: 10_000 } as const

/**
 * Returns the changed lines of each file of a review. The patch has its files in the order of the list; a path whose type
 * changed has two parts. The last part of a patch that was cut may lack lines.
 */
export function changedLines({ files, patch, patchTruncated }: Pick<Review, 'files' | 'patch' | 'patchTruncated'>) {
  const parts = partsOf(patch)
  if (patchTruncated) parts.pop()
  // Another number of parts would give a file the lines of another.
  const inOrder = patchTruncated || parts.length === files.length
  return files.map((_, at): FileLines => {
    const lines = inOrder && at < bounds.files ? parts[at] : undefined
    return lines === undefined || lines.flat().length > bounds.linesOfFile ? null : lines
  })
}

function partsOf(patch: string): ChangedLine[][][] {
  const parts: ChangedLine[][][] = []
  let [before, after, leftBefore, leftAfter] = [0, 0, 0, 0]
  let header = ''
  for (const line of patch.split('\n')) {
    const sign = line[0]
    if (leftBefore > 0 || leftAfter > 0) {
      const hunk = parts.at(-1)?.at(-1)
      if (sign === '+') hunk?.push({ side: 'after', number: after, text: line.slice(1) })
      if (sign === '-') hunk?.push({ side: 'before', number: before, text: line.slice(1) })
      if (sign !== '-' && sign !== '\\') [after, leftAfter] = [after + 1, leftAfter - 1]
      if (sign !== '+' && sign !== '\\') [before, leftBefore] = [before + 1, leftBefore - 1]
      continue
    }
    if (line.startsWith('diff --git ')) {
      if (line !== header) parts.push([])
      header = line
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (hunk === null) continue
    ;[before, after] = [Number(hunk[1]), Number(hunk[3])]
    ;[leftBefore, leftAfter] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)]
    parts.at(-1)?.push([])
  }
  return parts
}
