/** A kind of content that a browser would run, so that it is only shown on a site of its own. */
export type ArtifactViewKind = 'html' | 'pdf'

/** Returns how a browser would show an Artifact on a site of its own; null if it need not be there. */
export function artifactViewOf(name: string): ArtifactViewKind | null {
  const [, extension = ''] = /\.(html?|pdf)$/i.exec(name) ?? []
  if (extension === '') return null
  return extension.toLowerCase() === 'pdf' ? 'pdf' : 'html'
}
