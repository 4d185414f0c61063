/* Linked into the programs of `make asan` alone: MPI's plug-ins stay loaded to the end, so that the
 * leak checker can tell by their names that what they left is not ours (tests/lsan.supp). */
int dlclose(void *handle);
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
