import type { Health } from '@berth/contract'
import { clockTime, counted } from '../ui/format.ts'

/** How serious something is. */
export type Tone = 'plain' | 'warning' | 'bad'

/** A wait that is longer than this is worth a look. */
const longWaitMs = 2 * 60_000

export interface Judgement {
  readonly tone: Tone
  readonly text: string
}

/** Returns in a sentence whether everything works, the worst first. */
export function judge({ hosts, runs, ended, models }: Health, nowMs: number): Judgement {
  const atWork = hosts.filter(({ away }) => !away)
  if (atWork.length === 0) {
    return { tone: 'bad', text: 'No host is at work. Runs wait until a worker starts.' }
  }
  const rests = atWork.map(({ restsUntil }) => restsUntil).toSorted()
  const [soonest] = rests
  if (soonest && !rests.includes(null)) {
    return { tone: 'bad', text: `Every host has failed and rests. New sandboxes wait until ${clockTime(soonest)}.` }
  }
  if (models.requests >= 5 && models.failed * 2 > models.requests) {
    return {
      tone: 'bad',
      text: 'Most requests to models failed in the last hour. Ask your operator about the providers.',
    }
  }
  const oldest = runs.oldest[0]
  if (oldest !== undefined && nowMs - Date.parse(oldest.queuedAt) > longWaitMs) {
    return { tone: 'warning', text: `${counted(runs.queued, 'Run')} in the queue: every host is busy.` }
  }
  if (atWork.length < hosts.length) {
    return { tone: 'warning', text: `${counted(hosts.length - atWork.length, 'host')} away. The others go on.` }
  }
  const resting = rests.filter(until => until !== null).length
  if (resting > 0) {
    return { tone: 'warning', text: `${counted(resting, 'host')} at rest after failures. The others go on.` }
  }
  const failed = ended.failed + ended.crashed
  if (failed > 0) {
    const all = failed + ended.completed + ended.cancelled
    const tone = failed >= 5 && failed * 2 > all ? 'bad' : 'warning'
    return { tone, text: `${failed.toLocaleString('en')} of ${counted(all, 'Run')} failed in the last 24 hours.` }
  }
  return { tone: 'plain', text: 'Everything works.' }
}

const backlogNames: Readonly<Record<string, string>> = {
  workspace: 'Workspaces to restore',
  review: 'Reviews to write',
  publication: 'Publications under way',
  merge: 'Merges under way or waiting',
  webhook: 'Webhook deliveries',
}

export const backlogName = (kind: string): string => backlogNames[kind] ?? kind
