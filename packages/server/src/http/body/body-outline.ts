type Members = Readonly<Record<string, unknown>>

/**
 * Maximum number of values of one body that are copied between threads; copying one costs a microsecond on each side.
 */
const mostValues = 5_000

/** The members of a body that are cheap to copy, and the names of the rest. */
export interface BodyOutline {
  readonly members: Members
  readonly leftOut: readonly string[]
}

/** Splits a body by the cost of copying its members. Text is cheap to copy at any length. */
export function outlineOf(body: Members): BodyOutline {
  const members: Record<string, unknown> = Object.create(null)
  const leftOut: string[] = []
  let room = mostValues
  for (const [name, value] of Object.entries(body)) {
    const left = leftOf(value, room)
    if (left < 0) leftOut.push(name)
    else {
      room = left
      members[name] = value
    }
  }
  return { members, leftOut }
}

/**
 * Rebuilds a body from its outline. The first read of a left-out member parses the whole body, once. A request that is
 * passed on unchanged reads none.
 */
export function bodyOf(outline: BodyOutline, parse: () => Members): Members {
  const body: Record<string, unknown> = { ...outline.members }
  let whole: Members | undefined
  for (const name of outline.leftOut) {
    Object.defineProperty(body, name, {
      enumerable: true,
      get: () => {
        whole ??= parse()
        return whole[name]
      },
    })
  }
  return body
}

/** Returns the rest of `room` after counting a value and everything inside it; negative if it does not fit. */
function leftOf(value: unknown, room: number): number {
  let left = room - 1
  if (typeof value !== 'object' || value === null) return left
  for (const key in value) {
    if (left < 0) return left
    left = leftOf(Reflect.get(value, key), left)
  }
  return left
}
