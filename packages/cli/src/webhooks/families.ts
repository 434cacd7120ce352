import { InvalidArgumentError } from 'commander'

/** The types of Events that webhooks deliver, by the family that an endpoint subscribes to. */
export const webhookFamilies = {
  run: ['started', 'completed', 'failed', 'cancelled', 'crashed'],
  interaction: ['opened', 'resolved', 'expired'],
  artifact: ['created', 'omitted'],
  publication: ['created', 'failed', 'merge_succeeded', 'merge_failed'],
} as const

export type WebhookFamily = keyof typeof webhookFamilies

export const allFamilies = Object.keys(webhookFamilies) as readonly WebhookFamily[]

/** Returns the types of these families. */
export const typesOf = (families: readonly WebhookFamily[]): ReadonlySet<string> =>
  new Set(families.flatMap(family => webhookFamilies[family].map(verb => `svc.${family}.${verb}`)))

/** Parses an option that takes families, separated by commas. */
export function readFamilies(text: string): readonly WebhookFamily[] {
  const named = text.split(',').map(name => name.trim())
  const known = allFamilies.filter(family => named.includes(family))
  if (known.length !== new Set(named).size || named.length !== known.length) {
    throw new InvalidArgumentError(`Name each of ${allFamilies.join(', ')} at most once, separated by commas.`)
  }
  return known
}
