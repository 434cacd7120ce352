import { channelOf, parentOf } from './wakeup-channels.ts'

/** PostgreSQL refuses payloads of 8000 bytes and more. */
const MAX_PAYLOAD = 7900

/** One notification. */
interface Payload {
  readonly channel: string
  /** The sender, and the topics that it published, one a line. */
  text: string
}

/** Gathers topics into as few notifications as their channels and PostgreSQL's bound allow, in their order. */
export function payloadsOf(sender: string, topics: readonly string[]): readonly Payload[] {
  const payloads: Payload[] = []
  const open = new Map<string, Payload>()
  for (const topic of topics) {
    const parent = parentOf(topic)
    for (const channel of new Set([channelOf(topic), ...(parent === undefined ? [] : [channelOf(parent)])])) {
      let payload = open.get(channel)
      if (payload === undefined || payload.text.length + topic.length + 1 > MAX_PAYLOAD) {
        payload = { channel, text: sender }
        payloads.push(payload)
        open.set(channel, payload)
      }
      payload.text += `\n${topic}`
    }
  }
  return payloads
}

/** Returns the statement that sends notifications; with none it only asks whether the connection still answers. */
export const notifying = (payloads: readonly Payload[]): { readonly text: string; readonly values: string[][] } => ({
  text: 'select pg_notify(channel, text) from unnest($1::text[], $2::text[]) as n (channel, text)',
  values: [payloads.map(({ channel }) => channel), payloads.map(({ text }) => text)],
})
