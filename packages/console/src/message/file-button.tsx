import { Paperclip } from 'lucide-react'
import { useRef } from 'react'
import { Button, IconButton } from '../ui/button.tsx'

/** Asks for files that go with a message. */
export function FileButton({
  onFiles,
  compact = false,
}: {
  onFiles: (files: File[]) => Promise<void>
  compact?: boolean
}) {
  const chooser = useRef<HTMLInputElement>(null)
  const choose = () => chooser.current?.click()
  return (
    <>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files for the agent"
        onChange={event => {
          void onFiles([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
      {compact ? (
        <IconButton label="Add files" onClick={choose} className="size-9">
          <Paperclip className="size-4" aria-hidden />
        </IconButton>
      ) : (
        <Button variant="quiet" onClick={choose}>
          <Paperclip className="size-4" aria-hidden /> Files
        </Button>
      )}
    </>
  )
}
