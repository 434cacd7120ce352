import { InvalidArgumentError } from 'commander'

/** An amount above 0, as options give it. */
export function amount(text: string): number {
  const value = Number(text)
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text) || value <= 0) throw new InvalidArgumentError('Not a number above 0.')
  return value
}

/** A whole number, as options give it. */
export function count(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('Not a whole number.')
  return value
}

/** Of an option that may be given again: all that was given. */
export const collect = (value: string, all: readonly string[] = []): readonly string[] => [...all, value]
