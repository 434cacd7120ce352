/**
 * The `external_id` of every check run of Berth begins so, whichever deployment made it. Two deployments on one
 * repository know it of each other, and neither starts Sessions by the failed checks of the other.
 */
const prefix = 'berth:'

/** Returns the `external_id` of the check run of a report on a trigger's Run, or of a Publication. */
export const ownCheckId = (of: 'report' | 'publication', id: string): string => `${prefix}${of}:${id}`

/** Returns whether some deployment of Berth made a check run. */
export const isCheckOfBerth = (externalId: string | null): boolean => externalId?.startsWith(prefix) === true
