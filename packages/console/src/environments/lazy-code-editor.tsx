import { lazy, Suspense } from 'react'
import { LoadingLines } from '../ui/states.tsx'
import type { CodeEditorProps } from './code-editor.tsx'

const CodeEditor = lazy(() => import('./code-editor.tsx'))

/** The editor, which arrives after the page. */
export function LazyCodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<LoadingLines lines={4} label="the editor" />}>
      <CodeEditor {...props} />
    </Suspense>
  )
}
