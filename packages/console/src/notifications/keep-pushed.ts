import { pushed } from './pushed.ts'

let begun = false

/** Repeats the subscription of this browser once, if it has one for the membership. */
export function keepPushed(membershipId: string): void {
  if (begun || pushed.of(membershipId) === null) return
  begun = true
  import('./push.ts')
    .then(({ repeatPush }) => repeatPush())
    // The next load of the page tries again.
    .catch(() => {})
}
