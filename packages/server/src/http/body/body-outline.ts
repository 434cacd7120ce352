type Members = Readonly<Record<string, unknown>>

/** Values of one body that go from thread to thread at most; to copy one costs a microsecond on either side. */
const mostValues = 5_000

/** The members of a body that are cheap to copy, and the names of the others. */
export interface BodyOutline {
  readonly members: Members
  readonly leftOut: readonly string[]
}

/** Splits a body by what its members cost to copy. Text costs next to nothing, however long. */
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
 * The body that an outline is of. Whoever asks for a member that was left out has the whole body parsed, once; a request
 * that is passed on as it came asks for none.
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

/** What is left of `room` beside a value and all within it; negative if it does not fit. */
function leftOf(value: unknown, room: number): number {
  let left = room - 1
  if (typeof value !== 'object' || value === null) return left
  for (const key in value) {
    if (left < 0) return left
    left = leftOf(Reflect.get(value, key), left)
  }
  return left
}
