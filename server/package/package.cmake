# What is installed besides the programs, and the Debian package.
install(PROGRAMS server/package/prepare.sh DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cuad RENAME prepare)
install(DIRECTORY desktop/templates/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cuad/templates
	FILES_MATCHING PATTERN "*.yaml")
install(FILES server/cuad.yaml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/cuad)
install(FILES server/man/cuad.8 server/man/cuad-supervisor.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES server/man/cuad.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cuad)
set(CPACK_PACKAGE_CONTACT "cuad developers <cuad@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Isolated graphical desktops for agents")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
	set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64) # else that of the machine that packs
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS
	"passwd, e2fsprogs, util-linux, mmdebstrap, tar, dnsmasq-base, iproute2, kmod, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "lxcfs")
set(package ${CMAKE_SOURCE_DIR}/server/package)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
	"${package}/postinst;${package}/prerm;${package}/postrm;${package}/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
