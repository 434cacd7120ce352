/**
 * The `external_id` of every check run of Berth begins so, whichever deployment made it. Two deployments on one
 * repository know it of each other, and neither starts Sessions by the failed Runs of the other.
 */
const prefix = 'berth:report:'

/** Returns the `external_id` of the check run of a report. */
export const ownCheckId = (reportId: string): string => `${prefix}${reportId}`

/** Returns whether some deployment of Berth made a check run. */
export const isCheckOfBerth = (externalId: string | null): boolean => externalId?.startsWith(prefix) === true
