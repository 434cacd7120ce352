export { changedMembers, complete, type PlainDocument, plain } from './document.ts'
export { type Merged, mergeDocuments } from './merge-documents.ts'
export { same } from './same.ts'
