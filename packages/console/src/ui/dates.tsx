import { useMinute } from './clock.ts'
import { ago } from './format.ts'

const full = (at: string) => new Date(at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })

/** A day, with the time of it on hover. */
export function Day({ at }: { at: string }) {
  return (
    <time dateTime={at} title={full(at)}>
      {new Date(at).toLocaleDateString('en', { day: 'numeric', month: 'short', year: 'numeric' })}
    </time>
  )
}

/** How long ago something was, with the time of it on hover. */
export function Ago({ at }: { at: string }) {
  const now = useMinute()
  const text = ago(Date.parse(at), now)
  return (
    <time dateTime={at} title={full(at)}>
      {/^\d+ (?:min|h|d)$/.test(text) ? `${text} ago` : text}
    </time>
  )
}
