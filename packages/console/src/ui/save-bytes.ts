/** Saves bytes as a file of this computer. */
export function saveBytes(content: Blob | Uint8Array<ArrayBuffer>, name: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
