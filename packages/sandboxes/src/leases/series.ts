/** A series that the platform has named. */
const SERIES = /^[a-z]+(-[a-z]+)*$/

/** Returns whether a text names a series of baselines; such a name is safe as a path segment. */
export const isSeries = (value: string): boolean => SERIES.test(value)
