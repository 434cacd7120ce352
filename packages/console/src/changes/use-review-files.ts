import type { Review, ReviewFile } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { hasHidden } from '../ui/printable.ts'
import { useComments } from './comment-store.ts'
import type { DiffFile, LineRange } from './diff-rows.ts'
import { type FilePatch, parsePatch } from './patch.ts'
import { everyLine, readReviewFile } from './queries.ts'
import { patchesOf } from './review-patches.ts'
import { markOf, type Signal } from './signal-lines.ts'
import { useViewed } from './viewed.ts'

/** The parts of a file that a person has opened, until its content changes. */
interface Opened {
  readonly patch?: FilePatch
  readonly whole?: FilePatch
  readonly revealed?: readonly LineRange[]
  readonly folded?: boolean
  readonly drawn?: boolean
}

/** A file of a review on screen. */
export interface ReviewedFile extends DiffFile {
  readonly digest: string
  readonly viewed: boolean
  /** Whether a changed or shown line has characters that nobody sees. */
  readonly hidden: boolean
  /** Why its lines could not be read. */
  readonly problem: unknown
}

const nothing: readonly LineRange[] = []

/** Returns the files of a review as they are drawn, and their actions. */
export function useReviewFiles(sessionId: string, review: Review) {
  const viewed = useViewed(sessionId)
  const comments = useComments(sessionId)
  const [opened, setOpened] = useState<ReadonlyMap<string, Opened>>(new Map())
  const parsed = useMemo(() => parseReview(review), [review])
  const keyOf = (at: number) => `${review.files[at]?.path} ${parsed[at]?.digest}`
  const change = (at: number, part: Opened) =>
    setOpened(known => new Map(known).set(keyOf(at), { ...known.get(keyOf(at)), ...part }))

  const reading = useMutation({
    mutationFn: async ({ at, context }: { at: number; context: number }) => ({
      at,
      ...(await readReviewFile(sessionId, review.revision, at, context)),
    }),
    onSuccess: ({ at, patch, expandable }, { context }) => {
      const file = patch === null ? undefined : parsePatch(patch)[0]
      if (file === undefined) return change(at, { patch: { path: review.files[at]?.path ?? '', hunks: [] } })
      change(at, context === everyLine && expandable ? { whole: file } : { patch: file })
    },
  })

  const files: readonly ReviewedFile[] = review.files.map((file, at) => {
    const { patch, digest, hidden, signals } = parsed[at] ?? nothingParsed
    const open = opened.get(keyOf(at)) ?? {}
    const isViewed = viewed.has(file.path, digest)
    return {
      ...{ file, digest, hidden, signals, viewed: isViewed },
      patch: open.patch ?? patch,
      whole: open.whole ?? null,
      revealed: open.revealed ?? nothing,
      folded: open.folded ?? isViewed,
      drawn: open.drawn ?? false,
      comments: comments.filter(({ path }) => path === file.path),
      problem: reading.variables?.at === at ? reading.error : null,
    }
  })
  return {
    files,
    /** The file whose lines are being read now. */
    reading: reading.isPending ? reading.variables.at : null,
    /** Why the last mark was not kept. */
    markProblem: viewed.problem,
    fold: (at: number, folded: boolean) => change(at, { folded }),
    foldAll: (folded: boolean) =>
      setOpened(known => new Map(files.map((_, at) => [keyOf(at), { ...known.get(keyOf(at)), folded }] as const))),
    draw: (at: number) => change(at, { drawn: true }),
    load: (at: number) => reading.mutate({ at, context: 3 }),
    reveal: (at: number, range: LineRange) => {
      change(at, { revealed: [...(files[at]?.revealed ?? []), range] })
      if (files[at]?.whole === null) reading.mutate({ at, context: everyLine })
    },
    hasSeen: (signal: Signal) => viewed.has(markOf(signal), signal.digest),
    see: (signal: Signal, seen: boolean) => viewed.set(markOf(signal), signal.digest, seen),
    view: (at: number, isViewed: boolean) => {
      const file = files[at]
      if (file === undefined) return
      viewed.set(file.file.path, file.digest, isViewed)
      change(at, { folded: isViewed })
    },
  } as const
}

/** Returns which files of a review are viewed, by their places. */
export function useViewedFiles(sessionId: string, review: Review): (at: number) => boolean {
  const viewed = useViewed(sessionId)
  const parsed = useMemo(() => parseReview(review), [review])
  return at => viewed.has(review.files[at]?.path ?? '', parsed[at]?.digest ?? '')
}

export type ReviewFiles = ReturnType<typeof useReviewFiles>

interface Parsed {
  readonly patch: FilePatch | null
  readonly digest: string
  readonly hidden: boolean
  readonly signals: readonly Signal[]
}

const nothingParsed: Parsed = { patch: null, digest: '', hidden: false, signals: [] }

function parseReview(review: Review): readonly Parsed[] {
  const patches = patchesOf(review)
  return review.files.map((file, at) => {
    const patch = patches[at] ?? null
    const lines = patch?.hunks.flatMap(hunk => hunk.lines) ?? []
    return {
      patch,
      digest: digestOf(review, file, patch),
      hidden: lines.some(({ text }) => hasHidden(text)),
      signals: review.signals.filter(({ path }) => path === file.path),
    }
  })
}

/**
 * Returns a digest that tells one change of a file from the next: git's ids of its contents. If the
 * lines are not in the patch, neither are the ids, so any other revision asks to be looked at again.
 */
function digestOf(review: Review, file: ReviewFile, patch: FilePatch | null): string {
  if (patch === null) return review.revision
  // Without contents only the name or the mode has changed, and the base has the content.
  const contents = patch.contents ?? [review.baseOid, file.status, file.previousPath ?? '']
  return [...contents, ...(patch.modes ?? [])].join(' ')
}
