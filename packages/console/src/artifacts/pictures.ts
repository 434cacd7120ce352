import type { Artifact } from '@berth/contract'

/** Larger pictures are shown only once somebody opens them. */
const inlineBytes = 4 * 1024 ** 2

/** An Artifact that may be a picture. */
export type MaybePicture = Pick<Artifact, 'id' | 'sessionId' | 'name' | 'mediaType' | 'sizeBytes'> & {
  readonly runId?: string | null | undefined
}

type Kept = Pick<MaybePicture, 'name' | 'mediaType' | 'sizeBytes'>

/**
 * Returns whether an Artifact is shown where it is named. Its bytes decide whether it is a picture; SVG, which a browser
 * would run as a page, is kept without a type of its own.
 */
export const isInlinePicture = ({ name, mediaType, sizeBytes }: Kept): boolean =>
  (mediaType.startsWith('image/') || /\.svg$/i.test(name)) && sizeBytes <= inlineBytes

/** Returns true if one picture shows the same thing as one of an earlier Run. */
export const isSamePicture = (
  one: Kept & Pick<MaybePicture, 'runId'>,
  earlier: Kept & Pick<MaybePicture, 'runId'>,
): boolean => one.name === earlier.name && one.runId !== earlier.runId && [one, earlier].every(isInlinePicture)
