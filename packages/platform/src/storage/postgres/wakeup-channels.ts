/** Every process listens to this channel. It carries what concerns all of them: that hints were lost. */
export const EVERYBODY = 'berth'
/** Tells that anything may have happened. */
export const ANYTHING = '*'

/**
 * Channels of each kind of topic with ids. A process that follows 256 Sessions is sent 6 % of the wake-ups of others. For each
 * notification PostgreSQL searches the list of channels that a connection listens to, and that list is never longer than
 * what the process follows.
 */
const BUCKETS = 4096

/** Returns the topic of an organization, which nothing is published to itself. */
export const organizationTopic = (organizationId: string): string => `o/${organizationId}`

/** Returns the topic whose listeners also hear of this one: its organization's, for a Session's; its person's, for a mark's. */
export function parentOf(topic: string): string | undefined {
  const [kind, organizationId, ...rest] = topic.split('/')
  if (organizationId === undefined) return undefined
  if (kind === 's' && rest.length === 1) return organizationTopic(organizationId)
  if (kind === 'm' && rest.length === 2) return topic.slice(0, topic.lastIndexOf('/'))
  return undefined
}

/** Returns the channel of a topic: one of its own without ids, such as the queue's, and one of many with ids. */
export function channelOf(topic: string): string {
  if (topic === ANYTHING) return EVERYBODY
  const kind = topic.indexOf('/')
  return `${EVERYBODY}_${kind < 0 ? topic : `${topic.slice(0, kind)}_${bucketOf(topic)}`}`
}

/** FNV-1a. All processes of a deployment have to agree on it. */
function bucketOf(text: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return ((hash >>> 0) % BUCKETS).toString(16)
}
