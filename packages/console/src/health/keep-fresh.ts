import { queryClient } from '../api/queries.ts'
import { followFeed } from '../live/live.ts'
import { healthQuery } from './queries.ts'

/** How often the numbers are read at most, however much happens. */
const paceMs = 3_000

let following = false
let waiting = false

/** Has the health read again after Sessions change, from the first call on; only while a page shows it. */
export function keepHealthFresh(): void {
  if (following) return
  following = true
  followFeed(() => {
    if (waiting) return
    waiting = true
    setTimeout(() => {
      waiting = false
      void queryClient.invalidateQueries({ queryKey: healthQuery.queryKey })
    }, paceMs)
  })
}
