import { type WebhookFamily, webhookTypes } from '@berth/client'
import { UsageError } from '../failure.ts'

const allFamilies = Object.keys(webhookTypes) as readonly WebhookFamily[]

/** Returns the types of these families. */
export const typesOf = (families: readonly WebhookFamily[]): ReadonlySet<string> =>
  new Set(families.flatMap(family => webhookTypes[family]))

/**
 * Parses families, separated by commas. Without a text, they are all meant.
 * @throws UsageError if one is unknown, or named twice
 */
export function readFamilies(text: string | undefined): readonly WebhookFamily[] {
  if (text === undefined) return allFamilies
  const named = text.split(',').map(name => name.trim())
  const known = allFamilies.filter(family => named.includes(family))
  if (known.length !== new Set(named).size || named.length !== known.length) {
    throw new UsageError(`--families takes each of ${allFamilies.join(', ')} at most once, separated by commas`)
  }
  return known
}
