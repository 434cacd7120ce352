import type { Event } from '@berth/client'
import { textOf } from '@berth/client/transcript'
import { clip, printableLine } from '../terminal-text.ts'

/** Returns whether an Event tells of the apply of an environment. */
export const isOfApply = (event: Event): boolean =>
  event.type === 'svc.environment.apply' || event.type === 'svc.environment.output'

/** Returns the parts of an apply besides the setup script, one line each. */
export function applyFacts(event: Event): string[] {
  const { data } = event
  const repositories = objects(data.repositories).map(
    ({ repository, path, state }) => `${repository}: ${state} (${path})`,
  )
  const extensions = objects(data.extensions).map(({ ref, id, version, state, reason }) => {
    const name = id === undefined ? String(ref) : `${id} ${version ?? ''}`.trim()
    return `${name}: ${state}${reason === undefined ? '' : `, ${reason}`}`
  })
  const [github] = objects([data.github])
  const access =
    github?.status === 'granted' ? `granted for ${list(github.owners)}` : `${github?.status}: ${github?.reason}`
  return [
    ...(github === undefined ? [] : [`github: ${access}`]),
    ...repositories.map(line => `repository ${line}`),
    ...extensions.map(line => `extension ${line}`),
    ...cacheFacts(event),
  ].map(line => printableLine(clip(line, 500)))
}

function cacheFacts(event: Event): string[] {
  const cache = textOf(event, 'cache')
  if (cache === '') return []
  const [skip] = objects([event.data.cacheSkip])
  const [discarded] = objects([event.data.cacheDiscarded])
  const because = skip !== undefined ? ` (${skip.reason}: ${skip.path})` : discarded ? ` (${discarded.reason})` : ''
  return [`cache: ${cache}${because}`]
}

/** The data of Events is open, so any member may be missing or odd. */
const objects = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'object' && each !== null) : []

const list = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value))
