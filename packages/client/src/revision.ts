/** Returns the headers of a write that replaces this revision of an environment, and no later one. */
export const ifRevision = (revision: number): { readonly 'if-match': string } => ({ 'if-match': `"${revision}"` })
