/** Top-level names of a workspace that belong to Berth. */
export const platformNames = ['.berth'] as const
