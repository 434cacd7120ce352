import { type LogSource, readSealedPage } from '@berth/core/sealed-logs/read-sealed.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Candidates, SearchWindow } from './search-sql.ts'

/** Finds the Events of the sealed part of a log whose envelope contains a text, the newest first. */
export async function searchSealed(
  source: LogSource,
  key: SessionKey,
  { before, part, events, bytes, limit }: SearchWindow,
): Promise<Candidates> {
  const wanted = part.toLowerCase()
  const rows: { readonly sequence: number; readonly envelope: string }[] = []
  let reached: number | null = null
  let [seen, seenBytes] = [0, 0]
  while (seen < events && seenBytes < bytes) {
    const next: number = (reached ?? before) - 1
    if (next < 1) break
    const page = (await readSealedPage(source, key, next)).filter(({ sequence }) => sequence <= next)
    if (page.length === 0) break
    for (const event of page.toReversed()) {
      reached = event.sequence
      seen += 1
      seenBytes += event.envelope.length
      if (!event.envelope.toLowerCase().includes(wanted)) continue
      rows.push(event)
      if (rows.length === limit) return { reached, rows }
    }
  }
  return { reached, rows }
}
