/** A request that puts one blob, whoever sends it. Its signature covers the digest, so the store takes no other bytes. */
export interface LentUpload {
  readonly url: string
  /** All that the request must have, but for the length. */
  readonly headers: Readonly<Record<string, string>>
}

/** A store into which others can put content by themselves. */
export interface UploadLender {
  /**
   * Returns the request that puts the content of a digest; it is good for some minutes. Null if the store does not hold
   * such a request to the digest, and so would take anything.
   * @throws BlobsUnavailable
   */
  lend(sha256: string): Promise<LentUpload | null>
}

export const canLend = (blobs: object): blobs is UploadLender => 'lend' in blobs
