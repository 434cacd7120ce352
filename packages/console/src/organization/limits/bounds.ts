import type { OrganizationSettings, PricedModelList } from '@berth/contract'

/** Names of the bounds that an organization may set. */
export type BoundName = keyof OrganizationSettings['own']

/** One bound as a form asks for it. */
export interface Bound {
  readonly name: BoundName
  readonly label: string
  readonly unit: string
  readonly hint: string
  readonly whole?: true
  /** Describes the treatment of models whose cost nobody knows. */
  readonly unpriced?: (models: string) => string
}

const refused = (models: string) => `Requests to ${models} would be refused, because their cost is not known.`

export const spendingBounds: readonly Bound[] = [
  { name: 'dayUsd', label: 'A day', unit: 'US dollars', hint: 'From midnight to midnight UTC.', unpriced: refused },
  {
    name: 'monthUsd',
    label: 'A month',
    unit: 'US dollars',
    hint: 'From the first to the last day, UTC.',
    unpriced: refused,
  },
]

export const runBounds: readonly Bound[] = [
  { name: 'runCostUsd', label: 'Cost', unit: 'US dollars', hint: 'What it spends on models.', unpriced: refused },
  {
    name: 'runTurns',
    label: 'Steps',
    unit: 'calls of the model',
    hint: "Without a bound Berth's own agent makes 200.",
    whole: true,
  },
  { name: 'runSeconds', label: 'Time', unit: 'seconds', hint: 'Without the time it waits for people.', whole: true },
]

const namedModels = 3
const list = new Intl.ListFormat('en')

/** Explains a bound, and names the models without a price that the organization may use. */
export function hintOf({ hint, unpriced }: Bound, offered: PricedModelList | undefined): string {
  if (unpriced === undefined || offered === undefined) return hint
  const { models, openProviders, restricted } = offered
  const names = [
    ...models.flatMap(({ id, allowed, price }) => (allowed && price === null ? [id] : [])),
    ...(restricted ? [] : openProviders.map(provider => `whatever else ${provider} lists`)),
  ]
  if (names.length === 0) return hint
  const more = names.length - namedModels
  const named = more > 1 ? [...names.slice(0, namedModels), `${more} more`] : names
  return `${hint} ${unpriced(list.format(named))}`
}

/** The input for a bound: its value, null for no bound, or a fault. */
export type Typed = { readonly value: number | null } | { readonly fault: string }

/** Parses the input for a bound. */
export function readBound(text: string, { whole }: Pick<Bound, 'whole'>): Typed {
  const trimmed = text.trim()
  if (trimmed === '') return { value: null }
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(trimmed)) return { fault: 'Enter a number above 0, or nothing for no bound.' }
  const value = Number(trimmed)
  if (whole === true && !Number.isInteger(value)) return { fault: 'Enter a whole number, or nothing for no bound.' }
  return value < (whole === true ? 1 : 0.01) ? { fault: 'This would let nothing through.' } : { value }
}
